/** Tokens while much is asked, or nothing is answered. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../../src/client/index.ts';
import { inTurn, isSmoke, type Measurement, percentile } from '../row.ts';

const serverTime = 200;

/** Seconds. */
const life = 5;

/** Many apps ask at once for a token beyond its life: one refresh serves them all, and the server takes 200 ms for it. */
export const crowd: Measurement = {
  name: 'crowd',
  async measure(world) {
    const { home, oidcAgent, resource, refreshes } = await world();
    const brief = resource(life, serverTime, 'brief');
    await home.signIn([brief]);
    const connections: Connection[] = [];
    while (connections.length < (isSmoke ? 8 : 1000)) connections.push(await home.connection());
    const counts: number[] = [];
    const counted = (ask: () => Promise<number>) => async (): Promise<number> => {
      await sleep(life * 1000 + 500);
      const before = await refreshes();
      const time = await ask();
      counts.push((await refreshes()) - before);
      return time - serverTime;
    };
    const figures = await inTurn(5, {
      ours: counted(async () => {
        const from = performance.now();
        await Promise.all(connections.map(async (connection) => connection.getToken({ resource: brief })));
        return performance.now() - from;
      }),
      'oidc-agent': counted(async () => oidcAgent?.crowd(connections.length) ?? Number.NaN),
    });
    for (const connection of connections) connection.close();
    const what = `${connections.length} apps ask at once for a token beyond its life (refreshes: ${[...new Set(counts)].join(', ')}), beyond the server's ${serverTime} ms`;
    return [{ what, unit: 'ms', ...figures, goals: { 'oidc-agent': 0.5 } }];
  },
};

/** Milliseconds for which the server hangs, and for which is measured. */
const hangs = isSmoke ? 200 : 2000;

/** Tokens of one server while another one hangs, one at a time: the 99th percentile. */
export const hang: Measurement = {
  name: 'hang',
  async measure(world) {
    const { home, resource, lasting } = await world();
    // Its token is soon beyond its life.
    const hanging = resource(2, hangs, 'hanging');
    await home.signIn([hanging]);
    const [asking, waiting] = [await home.connection(), await home.connection()];
    const slowest = async (): Promise<number> => {
      const times: number[] = [];
      for (const end = performance.now() + hangs; performance.now() < end;) {
        const from = performance.now();
        await asking.getToken({ resource: lasting });
        times.push(performance.now() - from);
      }
      return percentile(times, 0.99);
    };
    const figures = await inTurn(5, {
      ours: async () => {
        await sleep(2500);
        const waits = waiting.getToken({ resource: hanging });
        const time = await slowest();
        await waits;
        return time;
      },
      idle: slowest,
    });
    for (const connection of [asking, waiting]) connection.close();
    const what = 'a token while another server hangs, 99th percentile';
    return [{ what, unit: 'ms', ...figures, goals: { idle: 1.2 } }];
  },
};
