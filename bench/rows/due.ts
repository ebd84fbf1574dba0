/** Hundreds of grants whose tokens are due at the same moment: the broker refreshes them by itself, and others ask meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../../src/client/index.ts';
import { isSmoke } from '../form.ts';
import { medianOf, percentileOf } from '../median.ts';
import { askForEach, type RefreshHome } from '../refresh-home.ts';
import { inTurn, itself, type Measurement } from '../row.ts';
import { many } from './crowd.ts';
import { timesOf } from './hang.ts';

/**
 * Seconds. Such a token is due some 23 seconds after it was issued, which leaves 12 for 500 that are refreshed one after another.
 */
const lifetime = 36;

/** Milliseconds for which the prober asks with nothing due: then it has about as many requests as beside refreshes. */
const quiet = 10_000;

export const due: Measurement = {
  name: 'due-500',
  async measure({ refreshHome: open }) {
    const [count, turns, quietTime] = isSmoke ? [4, 1, 50] : [500, 3, quiet];
    const refreshHome = await open(count, lifetime);
    const spans: number[] = [];
    const [busy, idle]: [number[], number[]] = [[], []];
    try {
      const { home, lasting } = refreshHome;
      const figures = await inTurn(turns, {
        ours: async () => {
          // Anew, so that all tokens are issued together again.
          if (!isSmoke) await home.startAnew();
          const prober = await refreshHome.connection();
          await askForAll(refreshHome);
          const { times, span } = isSmoke
            ? { times: await timesOf(prober, lasting, quietTime), span: 0 }
            : await whileRefreshed(refreshHome, prober);
          prober.close();
          spans.push(span);
          return longestOf(times, busy);
        },
        idle: async () => {
          const prober = await refreshHome.connection();
          const times = await timesOf(prober, lasting, quietTime);
          prober.close();
          return longestOf(times, idle);
        },
      });
      const seconds = spans.map((span) => (span / 1000).toFixed(0)).join(', ');
      const part = `99.9th percentile ${medianOf(busy).toFixed(1)} ms, idle ${medianOf(idle).toFixed(1)} ms`;
      return {
        name: 'due-500',
        what: `token.get, longest of all, while the broker refreshes ${count} grants that are due at once, within ${seconds} s (${part})`,
        unit: 'ms',
        ...figures,
        goals: [{ of: itself, atMost: 20 }],
      };
    } finally {
      await refreshHome.close();
    }
  },
};

/** So that each token is in use. */
async function askForAll({ resources, connection }: RefreshHome): Promise<void> {
  const connections = await many(Math.min(resources.length, 50), connection);
  await askForEach(connections, resources);
  for (const each of connections) each.close();
}

/** The longest; the 99.9th percentile is put with the others. */
function longestOf(times: readonly number[], percentiles: number[]): number {
  percentiles.push(percentileOf(times, 0.999));
  return times.toSorted((a, b) => b - a)[0] ?? Number.NaN;
}

/** Asks from the first refresh to the last one; `span` is the time between them, in milliseconds. */
async function whileRefreshed(
  { refreshes, resources, lasting }: RefreshHome,
  prober: Connection,
): Promise<{ times: number[]; span: number }> {
  await prober.getToken({ resource: lasting });
  const before = await refreshes();
  while ((await refreshes()) === before) await sleep(20);
  const from = performance.now();
  const times: number[] = [];
  // On a machine that is too busy some are over before they were refreshed: then it ends with them.
  while ((await refreshes()) < before + resources.length && performance.now() - from < lifetime * 1000)
    times.push(...(await timesOf(prober, lasting, 100)));
  return { times, span: performance.now() - from };
}
