/** A call through the bridge, and a result of 8 MB, beside the same over HTTPS without a bridge and beside `mcp-remote`. */
import { isSmoke } from '../form.ts';
import { medianOf } from '../median.ts';
import { inTurn, itself, type Measurement, type Row, timeOf } from '../row.ts';
import { type Call, openWorkshop, type Workshop } from '../workshop.ts';

const small = { name: 'echo', arguments: { key: 'a', text: 'b' } };
/** In the smoke form an eighth of it. */
const large = { name: 'repeat', arguments: { key: 'c', times: (isSmoke ? 1 : 8) * 1024 * 1024 } };

export const bridge: Measurement = {
  name: 'bridge',
  rows: ['bridge-call', 'bridge-8mb'],
  async measure() {
    const workshop = await openWorkshop();
    try {
      return [
        await callRow(workshop, isSmoke ? [1, 5] : [5, 400]),
        await largeRow(workshop, isSmoke ? [1, 2] : [9, 4]),
      ];
    } finally {
      await workshop.close();
    }
  },
};

type Times = readonly [turns: number, rounds: number];

async function callRow({ direct, ours, remote }: Workshop, [turns, rounds]: Times): Promise<Row> {
  const figures = await inTurn(turns, {
    ours: async () => addedBy(ours, direct, rounds),
    'mcp-remote': async () => (remote ? addedBy(remote, direct, rounds) : Number.NaN),
  });
  return {
    name: 'bridge-call',
    what: 'what the bridge adds to a call over HTTPS',
    unit: 'ms',
    ...figures,
    goals: [{ of: itself, atMost: 0.6 }],
  };
}

/** The median of one way beyond the median of the direct one, call by call in turn, in milliseconds. */
async function addedBy(way: Call, direct: Call, rounds: number): Promise<number> {
  const [ofWay, ofDirect]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    const from = performance.now();
    await way(small);
    const between = performance.now();
    await direct(small);
    ofWay.push(between - from);
    ofDirect.push(performance.now() - between);
  }
  return medianOf(ofWay) - medianOf(ofDirect);
}

async function largeRow({ direct, ours, remote }: Workshop, [turns, rounds]: Times): Promise<Row> {
  const figures = await inTurn(turns, {
    ours: async () => timeOf(rounds, async () => ours(large)),
    direct: async () => timeOf(rounds, async () => direct(large)),
    'mcp-remote': async () => (remote ? timeOf(rounds, async () => remote(large)) : Number.NaN),
  });
  return {
    name: 'bridge-8mb',
    what: 'a result of 8 MB through the bridge',
    unit: 'ms',
    ...figures,
    goals: [{ of: 'direct', atMost: 1.1 }],
  };
}
