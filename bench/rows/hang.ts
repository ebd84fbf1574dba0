/** Tokens of one server while another one hangs, one at a time: the 99th percentile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { inTurn, isSmoke, type Measurement, percentile } from '../row.ts';

/** Milliseconds for which the server hangs, and for which is measured. */
const hangs = isSmoke ? 200 : 2000;

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
