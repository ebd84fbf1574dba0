/** What the methods of the wire need besides the broker, and the form that each of them has. */
import type { Broker } from '../../broker/broker.ts';
import { cliClientId } from '../../broker/records/local-client.ts';
import type { MethodName, ParamsOf, ResultOf } from '../../ipc/protocol/protocol.ts';
import type { Caller } from '../../ipc/server/server.ts';
import type { ClientProcesses } from '../clients/client-processes.ts';
import type { AuditTrail } from '../vault/audit-trail.ts';
import type { VaultLock } from '../vault/vault-lock.ts';
import type { SettingsBook } from '../settings/settings-book.ts';
import type { SignInAccess } from '../clients/sign-in-access.ts';
import type { PermissionChange } from '../clients/widening.ts';

/** What the methods need of their host besides the broker. */
export interface Services {
  readonly broker: Broker;
  readonly settings: SettingsBook;
  readonly processes: ClientProcesses;
  readonly signIns: SignInAccess;
  readonly vaultLock: Pick<VaultLock, 'admit' | 'lock' | 'unlock' | 'changePassphrase'>;
  readonly trail: Pick<AuditTrail, 'tail' | 'verify' | 'about'>;
  /** Throws why nothing is served, where the home is a strange one (mismatched-home.ts). */
  readonly refuseMismatch: () => void;
  /** Before records of the home confer anything. Throws what the vault throws; does nothing once it has succeeded. */
  verifyRecords(): Promise<void>;
  status(): ResultOf<'status'>;
  changeSetting(name: string, value: unknown): Promise<ResultOf<'settings.set'>>;
  subscribe(caller: Caller): void;
  closeConnectionsOf(clientId: string): void;
  /** Removes the key file of a program that was unpaired, where it lies in the home. */
  removeKeyOf(clientId: string): Promise<void>;
  register(params: ParamsOf<'registration.set'>): Promise<ResultOf<'registration.set'>>;
  /** Ends every grant and empties the vault; the files are for others to remove, once the daemon has stopped. */
  reset(params: ParamsOf<'home.reset'>): Promise<ResultOf<'home.reset'>>;
  /** Something was changed: whoever shows it reads it again. */
  changed(): void;
  /**
   * The person's word where one is needed; absent: none is. Rejects where there is none. Resolves for `permission.set`
   * with what it was about, card or not: nothing else may be set.
   */
  readonly approve?: (
    caller: Caller,
    method: MethodName,
    params: unknown,
  ) => Promise<PermissionChange | undefined>;
  /** Rejects what widens in the home of a desk whose app doesn't run (closed-desk.ts); absent at a desk. */
  readonly requireOpenDesk?: (method: MethodName, params: unknown) => Promise<void>;
  /** Resolves when every rotated token is in the vault; the socket closes once the answer has left. */
  stop(): Promise<void>;
}

export type Handlers = {
  readonly [M in MethodName]: (
    services: Services,
    caller: Caller,
    params: ParamsOf<M>,
    approved?: PermissionChange,
  ) => Promise<ResultOf<M>> | ResultOf<M>;
};

/** The owner asks for tokens as the local client `cli`, which needs a permission like any other. */
export const brokerClientId = (caller: Caller): string =>
  caller.role === 'owner' ? cliClientId : caller.clientId;
