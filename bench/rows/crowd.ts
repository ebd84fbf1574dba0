/** Many apps ask at once for a token beyond its life: one refresh serves them all, and the server takes 200 ms for it. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../../src/client/index.ts';
import { inTurn, isSmoke, type Measurement } from '../row.ts';

const serverTime = 200;

/** Seconds. */
const life = 5;

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
