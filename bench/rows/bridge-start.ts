/** From the start of a bridge's process to its answer to `initialize`. The broker runs already. */
import { once } from 'node:events';
import { bridgeCommands, initialize, spawnBridge } from '../bridges.ts';
import { ended } from '../process.ts';
import { inTurn, type Measurement } from '../row.ts';

export const bridgeStart: Measurement = {
  name: 'bridge-start',
  async measure(world) {
    const opened = await world();
    const commands = await bridgeCommands(opened);
    const answered = (name: string) => async (): Promise<number> => {
      if (!commands[name]) return Number.NaN;
      const from = performance.now();
      const child = spawnBridge(opened, commands[name]);
      child.stdin.write(`${JSON.stringify(initialize)}\n`);
      await once(child.stdout, 'data');
      const time = performance.now() - from;
      await ended(child);
      return time;
    };
    const figures = await inTurn(15, { ours: answered('ours'), 'mcp-remote': answered('mcp-remote') });
    const what = 'start of a bridge until `initialize` is answered';
    return [{ what, unit: 'ms', ...figures, goals: { 'mcp-remote': 0.35 } }];
  },
};
