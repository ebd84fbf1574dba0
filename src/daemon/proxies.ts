/** The proxies of a running broker, put together: their list, their apps and their process. */
import { forkChild } from '../base/system/child.ts';
import { proxyWorkerFile } from '../proxy/worker-file.ts';
import { removeClient } from './methods/client-methods.ts';
import type { Services } from './methods/services.ts';
import { ProxiedApps } from './proxy/proxied-apps.ts';
import { ProxyDesk } from './proxy/proxy-desk.ts';
import { ProxyProcess } from './proxy/proxy-process.ts';
import { clock } from './runtime.ts';
import type { Runtime } from './runtime.ts';

export interface ProxiesOfBroker {
  readonly desk: ProxyDesk;
  /** Ends their process. */
  stop(): void;
}

/** What of the broker's services the proxies need. */
type Needed = Pick<Services, 'closeConnectionsOf' | 'removeKeyOf'> & { readonly changed: () => void };

/** Starts nothing yet. `socket`: where the broker listens; undefined before it does. */
export function proxiesOf(runtime: Runtime, needed: Needed, socket: () => string): ProxiesOfBroker {
  const { options, broker, proxies, keys, net, vaultLock, records, homeCheck } = runtime;
  const { changed } = needed;
  const remove = (id: string): Promise<void> => removeClient({ broker, ...needed }, id);
  const apps = new ProxiedApps({
    proxies,
    keys,
    net,
    parts: broker.parts,
    socket,
    changed,
    removeClient: remove,
    verify: async () => {
      homeCheck.refuseMismatch();
      vaultLock.refuseIfLocked();
      await homeCheck.verify();
      await records.document.verify();
    },
  });
  const process = new ProxyProcess({
    spawn: options.spawnProxy ?? ((env) => forkChild(proxyWorkerFile, env)),
    env: options.env,
    clock,
    log: options.log.write,
    admit: (entry) => apps.admit(entry),
    changed,
  });
  const desk = new ProxyDesk({
    broker,
    proxies,
    apps,
    process,
  });
  return { desk, stop: () => process.stop() };
}
