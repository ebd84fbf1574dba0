/** Many new, authenticated connections at once, each with one `token.get`: the rate, and what the slowest of them wait. */
import { isSmoke } from '../form.ts';
import { percentileOf } from '../median.ts';
import type { Crowd } from '../oidc-agent.ts';
import { inTurn, type Measurement } from '../row.ts';
import { once } from './anew.ts';

type Contender = 'ours' | 'floor' | 'oidc-agent';

export function anewCrowd(size: number): Measurement {
  const name = `anew-${size}`;
  return {
    name,
    rows: [name, `${name}-p99`],
    async measure({ world }) {
      const { ours, floor, oidcAgent, resource } = await world();
      const [turns, visits] = isSmoke ? [1, size] : [5, 2000];
      const waits: Record<Contender, number[]> = { ours: [], floor: [], 'oidc-agent': [] };
      const rateOf = (contender: Contender, crowd: () => Promise<Crowd>) => async (): Promise<number> => {
        const { rate, p99 } = await crowd();
        waits[contender].push(p99);
        return rate;
      };
      const none = { rate: Number.NaN, p99: Number.NaN };
      const rates = await inTurn(turns, {
        ours: rateOf('ours', async () =>
          visited(size, visits, async () => {
            const connection = await ours();
            await connection.getToken({ resource });
            connection.close();
          }),
        ),
        floor: rateOf('floor', async () => visited(size, visits, once(floor))),
        'oidc-agent': rateOf('oidc-agent', async () => (await oidcAgent?.crowd?.(size, visits)) ?? none),
      });
      const wait = (contender: Contender) => async () => waits[contender].shift() ?? Number.NaN;
      const slowest = await inTurn(turns, {
        ours: wait('ours'),
        floor: wait('floor'),
        'oidc-agent': wait('oidc-agent'),
      });
      const what = `token.get, new authenticated connection each time, ${size} clients at once`;
      return [
        { name, what, unit: '/s', ...rates, goals: [{ of: 'oidc-agent', atLeast: 3.5 }] },
        {
          name: `${name}-p99`,
          what: `${what}: the 99th percentile of their times`,
          unit: 'ms',
          ...slowest,
          goals: [{ of: 'oidc-agent', atMost: 0.5 }],
        },
      ];
    },
  };
}

async function visited(size: number, visits: number, visit: () => Promise<void>): Promise<Crowd> {
  const times: number[] = [];
  const from = performance.now();
  let left = visits;
  const clients = Array.from({ length: size }, async () => {
    while (left > 0) {
      left -= 1;
      const began = performance.now();
      await visit();
      times.push(performance.now() - began);
    }
  });
  await Promise.all(clients);
  const rate = (visits * 1000) / (performance.now() - from);
  return { rate, p99: percentileOf(times, 0.99) };
}
