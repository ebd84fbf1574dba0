/** What the methods of the wire use, taken from the parts of the running broker. */
import { KeyturnError } from '../base/errors.ts';
import type { BrokerServer } from '../ipc/server/server.ts';
import type { Forwards } from './forwards/forwards.ts';
import { ClientProcesses } from './clients/client-processes.ts';
import { socketAccess } from './clients/sign-in-access.ts';
import { removeKeyFiles } from './home/key-files.ts';
import { Approvals } from './methods/approvals.ts';
import { enterRegistration } from './methods/registration-entry.ts';
import { resetHome } from './methods/reset.ts';
import type { Services } from './methods/services.ts';
import type { ProxyDesk } from './proxy/proxy-desk.ts';
import type { Runtime } from './runtime.ts';
import { changeSetting, checkSetting } from './methods/setting-change.ts';
import type { Shutdown } from './shutdown.ts';
import { statusOf } from './status.ts';
import { handedNetwork } from './system/handed-network.ts';
import { BackupKeys } from './vault/backup-keys.ts';
import { serviceOf } from './vault/secrets.ts';

/** What listens: the socket's server, undefined before it does, and the proxies. */
export interface ListeningParts {
  readonly server: () => BrokerServer | undefined;
  readonly proxies: ProxyDesk;
  readonly forwards: Forwards;
}

/** What a request over the socket needs. */
export function servicesOf(runtime: Runtime, shutdown: Shutdown, listening: ListeningParts): Services {
  const { server, proxies, forwards } = listening;
  const { options, opened, broker, records, subscribers, vaultLock, homeCheck, pause, display } = runtime;
  const { log } = options;
  const { home, book } = opened;
  const { trail, root } = runtime.secrets;
  const { parts } = broker;
  return {
    broker,
    vaultLock,
    backupKeys: new BackupKeys({ root, homeId: home.homeId }),
    pause,
    trail,
    settings: book,
    processes: new ClientProcesses((ended) => broker.consent.endRun(ended)),
    signIns: socketAccess(() => parts.isDesk),
    homeCheck,
    proxies,
    forwards,
    shutdown,
    document: records.document,
    network: async (endpoint) =>
      handedNetwork(await runtime.net.agentFor(endpoint, (url) => parts.overrides.isPrivate(url))),
    status: () => statusOf({ ...runtime, ...opened, ...listening, parts, trail, log }),
    changeSetting: async (name, value) => {
      const change = await changeSetting({ home, book, parts, homeCheck }, name, value);
      log.level = book.current.logLevel;
      return change;
    },
    subscribe: (caller) => subscribers.add(caller),
    setDisplay: (given) => display.set(given),
    changed: () => {
      proxies.recheck();
      void proxies.reroute();
      subscribers.tell('status.changed');
    },
    noteFailure: (method, error) => {
      vaultLock.noted(error);
      if (!(error instanceof KeyturnError)) log.write(fault(method, error), 'error');
    },
    ...connectionsOf(runtime, server, forwards),
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

/** How a program that is unpaired ends. */
export function connectionsOf(
  { opened: { home } }: Runtime,
  server: () => BrokerServer | undefined,
  forwards: Pick<Forwards, 'closeConnectionsOf'>,
): Pick<Services, 'closeConnectionsOf' | 'removeKeyOf'> {
  return {
    closeConnectionsOf: (clientId) => {
      server()?.closeConnectionsOf(clientId);
      forwards.closeConnectionsOf(clientId);
    },
    removeKeyOf: (clientId) => removeKeyFiles(home.paths, { clientId, brokerId: home.homeId }),
  };
}

/** Nothing where no person sits: commands take effect at once there. */
export function approvalsOf(
  { options, opened, broker, proxies, homeCheck }: Runtime,
  { processes }: Services,
  forwards: Forwards,
): Pick<Services, 'approve'> {
  if (!options.desk) return {};
  const change = { ...opened, parts: broker.parts, homeCheck };
  const approvals = new Approvals({
    broker,
    proxies,
    forwards,
    processes,
    checkSetting: (name, value) => checkSetting(change, name, value),
  });
  return { approve: (caller, method, params) => approvals.require(caller, method, params) };
}

/** A fault of ours as the log may have it: where it happened, and never its message, which may quote anything. */
function fault(method: string, error: unknown): string {
  const frames =
    error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  const name = error instanceof Error ? error.name : 'not an Error';
  return JSON.stringify({ event: 'fault', method, name, at: frames.slice(0, 8).map((line) => line.trim()) });
}
