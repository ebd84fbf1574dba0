/** What a bridge adds to a call over HTTPS: the median of its calls beyond that of direct ones, call by call in turn. */
import { bridgeCommands, type Call, direct, openBridge } from '../bridges.ts';
import { inTurn, isSmoke, type Measurement, percentile, type Row } from '../row.ts';

export const bridgeCall: Measurement = {
  name: 'bridge-call',
  async measure(world) {
    const opened = await world();
    const { ours: command = [], 'mcp-remote': theirs } = await bridgeCommands(opened);
    const without = await direct(opened);
    await using ours = await openBridge(opened, command);
    await using remote = theirs ? await openBridge(opened, theirs) : undefined;
    const row = async (what: string, atOnce: number, rounds: number): Promise<Row> => {
      const figures = await inTurn(5, {
        ours: async () => addedBy(ours.call, without, atOnce, rounds),
        'mcp-remote': async () => (remote ? addedBy(remote.call, without, atOnce, rounds) : Number.NaN),
      });
      return { what, unit: 'µs', ...figures, goals: { 'mcp-remote': 0.8 } };
    };
    return [
      await row('what a bridge adds to a call, one at a time', 1, 300),
      await row('what a bridge adds to a call, 20 at once', 20, 60),
    ];
  },
};

/** Microseconds for each call. */
async function addedBy(way: Call, without: Call, atOnce: number, rounds: number): Promise<number> {
  const times = new Map<Call, number[]>([
    [way, []],
    [without, []],
  ]);
  for (let round = 0; round < (isSmoke ? 3 : rounds); round += 1) {
    for (const [call, found] of times) {
      const from = performance.now();
      await Promise.all(Array.from({ length: atOnce }, async () => call('echo', { key: 'a', text: 'b' })));
      found.push(performance.now() - from);
    }
  }
  const [ofWay = Number.NaN, ofDirect = Number.NaN] = [...times.values()].map((found) =>
    percentile(found, 0.5),
  );
  return (1000 * (ofWay - ofDirect)) / atOnce;
}
