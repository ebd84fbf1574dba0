/** Grants at servers of their own that all need a refresh at the same moment: no server waits for another one's turn. */
import { setTimeout as sleep } from 'node:timers/promises';
import { medianOf } from '../median.ts';
import { itself, type Measurement } from '../row.ts';
import type { BenchWorld } from '../world.ts';

/** Milliseconds that each authorization server takes. */
const serverTime = 200;

type Server = Pick<BenchWorld, 'resource' | 'authorizationServer'>;

export const twenty: Measurement = {
  name: 'twenty',
  async measure({ world, isSmoke }) {
    const { home, ours, resource, authorizationServer, furtherServers } = await world();
    const [count, turns] = isSmoke ? [1, 1] : [20, 3];
    // The smoke form starts no servers: it has the grant that is there.
    const servers: Server[] = isSmoke ? [{ resource, authorizationServer }] : [];
    while (servers.length < count) {
      const { protectedServer, authorizationServer: further } = await furtherServers();
      await home.signIn(protectedServer.resource);
      servers.push({ resource: protectedServer.resource, authorizationServer: further });
    }
    const connection = await ours();
    const [times, refreshed]: [number[], number[]] = [[], []];
    const each = async (work: (of: string) => Promise<unknown>): Promise<unknown> =>
      Promise.all(servers.map(async (server) => work(server.resource)));
    const refreshes = (): number =>
      servers.reduce((sum, server) => sum + server.authorizationServer.counts.tokenRequests, 0);
    for (const server of servers)
      server.authorizationServer.setTokenGate(() => ({ answerAfter: sleep(serverTime) }));
    for (let turn = 0; turn < turns; turn += 1) {
      await each(async (of) => {
        const { access_token } = await connection.getToken({ resource: of });
        await connection.rejectToken({ access_token, status: 401, operation: 'twenty' });
      });
      const before = refreshes();
      const from = performance.now();
      await each(async (of) => connection.getToken({ resource: of }));
      times.push(performance.now() - from);
      refreshed.push(refreshes() - before);
    }
    for (const server of servers) server.authorizationServer.setTokenGate();
    connection.close();
    return {
      name: 'twenty',
      what: `${count} grants at ${count} servers, which take ${serverTime} ms each, refreshed at once (refreshes: ${refreshed.join(', ')})`,
      unit: 'ms',
      ours: medianOf(times),
      // A tenth of what oidc-agent 4.2.6 took on a quiet machine of this kind, where it works one after another: 4.2 s.
      goals: [{ of: itself, atMost: 420 }],
    };
  },
};
