/** Many programs ask at once for a token that its server has just refused: one refresh serves them all. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isSmoke } from '../form.ts';
import { medianOf } from '../median.ts';
import { itself, type Measurement } from '../row.ts';
import { many } from './crowd.ts';

/** Milliseconds until one client, as which all of them ask, may ask 1,000 times again (ipc/server/server.ts). */
const refill = 1100;

/** Milliseconds that the authorization server takes. */
const serverTime = 200;

export const refresh: Measurement = {
  name: 'refresh',
  async measure({ world }) {
    const { ours, resource, authorizationServer } = await world();
    const [connections, turns] = [await many(isSmoke ? 8 : 1000, ours), isSmoke ? 1 : 3];
    const [first] = connections;
    if (!first) throw new Error('there is no connection');
    authorizationServer.setTokenGate(() => ({ answerAfter: sleep(serverTime) }));
    const [times, refreshes]: [number[], number[]] = [[], []];
    for (let turn = 0; turn < turns; turn += 1) {
      if (!isSmoke) await sleep(refill);
      const { access_token } = await first.getToken({ resource });
      await first.rejectToken({ access_token, status: 401, operation: 'refresh' });
      const before = authorizationServer.counts.tokenRequests;
      const from = performance.now();
      await Promise.all(connections.map(async (connection) => connection.getToken({ resource })));
      times.push(performance.now() - from - serverTime);
      refreshes.push(authorizationServer.counts.tokenRequests - before);
    }
    authorizationServer.setTokenGate();
    for (const connection of connections) connection.close();
    return {
      name: 'refresh',
      what: `${connections.length} programs ask at once for a token that its server refused (refreshes: ${refreshes.join(', ')}): time beyond the server's ${serverTime} ms`,
      unit: 'ms',
      ours: medianOf(times),
      // A third of what oidc-agent 4.2.6 took on a quiet machine of this kind: 472 ms.
      goals: [{ of: itself, atMost: 157 }],
    };
  },
};
