/** A result of 8 MB through the bridge, and without it by the same client. */
import { bridgeCommands, type Call, direct, openBridge } from '../bridges.ts';
import { inTurn, isSmoke, type Measurement, percentile, timesOf } from '../row.ts';

const times = (isSmoke ? 1 : 8) * 1024 * 1024;

export const bridge8mb: Measurement = {
  name: 'bridge-8mb',
  async measure(world) {
    const opened = await world();
    const { ours: command = [] } = await bridgeCommands(opened);
    const without = await direct(opened);
    await using bridge = await openBridge(opened, command);
    const by = (call: Call) => async (): Promise<number> =>
      percentile(await timesOf(4, async () => call('repeat', { key: 'c', times })), 0.5);
    const figures = await inTurn(9, { ours: by(bridge.call), direct: by(without) });
    return [{ what: 'a result of 8 MB through the bridge', unit: 'ms', ...figures, goals: { direct: 1.5 } }];
  },
};
