/** Grants at servers of their own that all need a refresh at the same moment: no server waits for another one's turn. */
import { connect } from '../../src/client/index.ts';
import { BrokerHome } from '../broker-home.ts';
import { isSmoke } from '../form.ts';
import { medianOf } from '../median.ts';
import { startRefreshServers } from '../refresh-servers.ts';
import { itself, type Measurement } from '../row.ts';
import { resourceAt } from '../token-server.ts';

/** Milliseconds that each authorization server takes. */
const serverTime = 200;

export const twenty: Measurement = {
  name: 'twenty',
  async measure() {
    const [count, turns] = isSmoke ? [2, 1] : [20, 3];
    const home = new BrokerHome();
    const servers = await startRefreshServers(serverTime, count);
    try {
      const resources = servers.issuers.map((issuer) => resourceAt(issuer, 3600, 'own'));
      const [first = '', ...others] = resources;
      home.trust(servers.ca);
      await home.prepare(first);
      for (const resource of others) await home.signIn(resource);
      const connection = await connect({ name: 'bench', env: home.env });
      const each = async (work: (resource: string) => Promise<unknown>): Promise<unknown> =>
        Promise.all(resources.map(work));
      const [times, refreshed]: [number[], number[]] = [[], []];
      for (let turn = 0; turn < turns; turn += 1) {
        await each(async (resource) => {
          const { access_token } = await connection.getToken({ resource });
          await connection.rejectToken({ access_token, status: 401, operation: 'twenty' });
        });
        const before = await servers.refreshes();
        const from = performance.now();
        await each(async (resource) => connection.getToken({ resource }));
        times.push(performance.now() - from);
        refreshed.push((await servers.refreshes()) - before);
      }
      connection.close();
      return {
        name: 'twenty',
        what: `${count} grants at ${count} servers, which take ${serverTime} ms each, refreshed at once (refreshes: ${refreshed.join(', ')})`,
        unit: 'ms',
        ours: medianOf(times),
        // A tenth of what oidc-agent 4.2.6 took on a quiet machine of this kind, where it works one after another: 4.2 s.
        goals: [{ of: itself, atMost: 420 }],
      };
    } finally {
      await home.close();
      await servers.close();
    }
  },
};
