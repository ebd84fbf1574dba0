/** What the methods of the wire need besides the broker, and the form that each of them has. */
import type { Broker } from '../broker/broker.ts';
import { cliClientId } from '../broker/local-client.ts';
import type { MethodName, ParamsOf, ResultOf } from '../ipc/protocol.ts';
import type { Caller } from '../ipc/server.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { Settings } from './settings.ts';

/** What the methods need of their host besides the broker. */
export interface Host {
  readonly broker: Broker;
  readonly settings: Settings;
  readonly trail: Pick<AuditTrail, 'tail' | 'verify' | 'about'>;
  status(): ResultOf<'status'>;
  changeSetting(name: string, value: unknown): Promise<void>;
  subscribe(caller: Caller): void;
  closeConnectionsOf(clientId: string): void;
  register(params: ParamsOf<'registration.set'>): Promise<ResultOf<'registration.set'>>;
  /** Stops the daemon once the answer has left. */
  stop(): void;
}

export type Handlers = {
  readonly [M in MethodName]: (
    host: Host,
    caller: Caller,
    params: ParamsOf<M>,
  ) => Promise<ResultOf<M>> | ResultOf<M>;
};

/** The owner asks for tokens as the local client `cli`, which needs a permission like any other. */
export const brokerClientId = (caller: Caller): string =>
  caller.role === 'owner' ? cliClientId : caller.clientId;
