/** What the methods of the wire use, taken from the parts of the running broker. */
import { KeyturnError } from '../base/errors.ts';
import type { BrokerServer } from '../ipc/server/server.ts';
import { ClientProcesses } from './clients/client-processes.ts';
import { socketAccess } from './clients/sign-in-access.ts';
import { removeKeyFiles } from './home/key-files.ts';
import { Approvals } from './methods/approvals.ts';
import { enterRegistration } from './methods/registration-entry.ts';
import { resetHome } from './methods/reset.ts';
import type { Services } from './methods/services.ts';
import type { Runtime } from './runtime.ts';
import { changeSetting, checkSetting } from './methods/setting-change.ts';
import type { Shutdown } from './shutdown.ts';
import { statusOf } from './status.ts';
import { fault } from './system/fault.ts';
import { serviceOf } from './vault/secrets.ts';

/** What a request over the socket needs. `server`: the one that listens; undefined before it does. */
export function servicesOf(
  runtime: Runtime,
  shutdown: Shutdown,
  server: () => BrokerServer | undefined,
): Services {
  const { options, opened, broker, records, authority, subscribers, vaultLock, homeCheck } = runtime;
  const { log } = options;
  const { home, book, unshielded } = opened;
  const { trail } = runtime.secrets;
  const { parts } = broker;
  return {
    broker,
    vaultLock,
    trail,
    settings: book,
    processes: new ClientProcesses((ended) => broker.consent.endRun(ended)),
    signIns: socketAccess(() => parts.isDesk),
    homeCheck,
    shutdown,
    authority,
    status: () => statusOf({ home, book, parts, records, trail, log, vaultLock, homeCheck, unshielded }),
    changeSetting: async (name, value) => {
      const change = await changeSetting({ home, book, parts, homeCheck }, name, value);
      log.level = book.current.logLevel;
      return change;
    },
    subscribe: (caller) => subscribers.add(caller),
    changed: () => subscribers.tell('status.changed'),
    noteFailure: (method, error) => {
      vaultLock.noted(error);
      if (!(error instanceof KeyturnError)) log.write(fault(method, error), 'error');
    },
    closeConnectionsOf: (clientId) => server()?.closeConnectionsOf(clientId),
    removeKeyOf: (clientId) => removeKeyFiles(home.paths, { clientId, brokerId: home.homeId }),
    register: (params) => enterRegistration(parts, params),
    reset: (params) =>
      resetHome(
        { broker, records, service: serviceOf(home), isMismatched: opened.mismatch !== undefined },
        params,
      ),
    stop: async () => {
      await shutdown.drain();
      // After the answer: it leaves with the connection's last bytes.
      setImmediate(() => void shutdown.finish());
    },
  };
}

/** Nothing where no person sits: commands take effect at once there. */
export function approvalsOf(
  { options, opened, broker, homeCheck }: Runtime,
  { processes }: Services,
): Pick<Services, 'approve'> {
  if (!options.desk) return {};
  const change = { ...opened, parts: broker.parts, homeCheck };
  const approvals = new Approvals({
    broker,
    processes,
    checkSetting: (name, value) => checkSetting(change, name, value),
  });
  return { approve: (caller, method, params) => approvals.require(caller, method, params) };
}
