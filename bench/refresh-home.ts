/**
 * A home with a sealed file and many grants at one server that takes 100 ms for each refresh and always brings another refresh
 * token: what is due, what is refreshed at once, and what that leaves in memory.
 *
 * Invariant: the server is a process of its own; nothing of it is left after `close`.
 */
import { type Connection, connect } from '../src/client/index.ts';
import type { BrokerHome } from './broker-home.ts';
import { addGrantsOf, sealedHome } from './many-grants.ts';
import { startRefreshServers } from './refresh-servers.ts';
import { resourceAt } from './token-server.ts';

/** Milliseconds that the server takes for each refresh. */
export const serverTime = 100;

/** Seconds. The token's last fifth isn't used: what was refreshed is to be refreshed again soon after. */
export const briefLife = 2;

export interface RefreshHome {
  readonly home: BrokerHome;
  readonly issuer: string;
  /** PEM text. */
  readonly ca: string;
  /** Its token lives an hour. */
  readonly lasting: string;
  /** In the order that they were asked for. */
  readonly resources: readonly string[];
  readonly connection: () => Promise<Connection>;
  /** Refreshes that the server has answered. */
  readonly refreshes: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/** Grants whose access tokens live so many seconds. */
export async function openRefreshHome(count: number, lifetime: number): Promise<RefreshHome> {
  const home = await sealedHome();
  const servers = await startRefreshServers(serverTime);
  const { ca, refreshes } = servers;
  const [issuer = ''] = servers.issuers;
  const close = async (): Promise<void> => {
    await home.close();
    await servers.close();
  };
  try {
    const lasting = resourceAt(issuer, 3600, 'lasting');
    const resources = Array.from({ length: count }, (_, n) => resourceAt(issuer, lifetime, `s${n}`));
    home.trust(ca);
    await home.prepare(lasting);
    await home.endLast();
    await addGrantsOf(home.env, resources);
    await home.startBroker();
    await home.allow(resources);
    return {
      home,
      issuer,
      ca,
      lasting,
      resources,
      connection: async () => connect({ name: 'bench', env: home.env }),
      refreshes,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Asks once for each resource over the given connections; each asks for one at a time. */
export async function askForEach(
  connections: readonly Connection[],
  resources: readonly string[],
): Promise<void> {
  const left = [...resources];
  await Promise.all(
    connections.map(async (connection) => {
      for (let resource = left.pop(); resource !== undefined; resource = left.pop())
        await connection.getToken({ resource });
    }),
  );
}
