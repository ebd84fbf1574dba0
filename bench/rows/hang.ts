/** A token in memory of one resource, while the authorization server of another one hangs. */
import type { Connection } from '../../src/client/index.ts';
import { isSmoke } from '../form.ts';
import { percentileOf } from '../median.ts';
import { inTurn, type Measurement } from '../row.ts';

/** Milliseconds for which the server hangs. */
const hangs = 2000;

export const hang: Measurement = {
  name: 'hang',
  async measure({ world }) {
    const { home, ours, resource, otherResource, authorizationServer } = await world();
    await home.signIn(otherResource);
    const [asking, waiting] = [await ours(), await ours()];
    const [turns, time] = isSmoke ? [1, 50] : [3, hangs];
    const figures = await inTurn(turns, {
      ours: async () => {
        const { access_token } = await waiting.getToken({ resource });
        await waiting.rejectToken({ access_token, status: 401, operation: 'hang' });
        const [served, arrived] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        authorizationServer.setTokenGate(() => {
          arrived.resolve();
          return { answerAfter: served.promise };
        });
        const hanging = waiting.getToken({ resource });
        // The servers are in this process: what they do before and after would count as the broker's time.
        await arrived.promise;
        const slowest = await slowestOf(asking, otherResource, time);
        served.resolve();
        await hanging;
        authorizationServer.setTokenGate();
        return slowest;
      },
      idle: async () => slowestOf(asking, otherResource, time),
    });
    for (const connection of [asking, waiting]) connection.close();
    return {
      name: 'hang',
      what: `token.get of one resource, 99th percentile, while another one's server hangs ${hangs / 1000} s`,
      unit: 'ms',
      ...figures,
      goals: [{ of: 'idle', atMost: 1.5 }],
    };
  },
};

/** The 99th percentile of requests one at a time, in milliseconds, for `time` milliseconds. */
export async function slowestOf(connection: Connection, resource: string, time: number): Promise<number> {
  return percentileOf(await timesOf(connection, resource, time), 0.99);
}

/** What each request took, one at a time, in milliseconds, for `time` milliseconds. */
export async function timesOf(connection: Connection, resource: string, time: number): Promise<number[]> {
  const times: number[] = [];
  for (const end = performance.now() + time; performance.now() < end;) {
    const from = performance.now();
    await connection.getToken({ resource });
    times.push(performance.now() - from);
  }
  return times;
}
