/** Private memory of a bridge after 20 calls, beside a Node process that only waits for its input. */
import { spawn } from 'node:child_process';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { bridgeCommands, openBridge } from '../bridges.ts';
import { ended, memoryOf } from '../process.ts';
import { inTurn, isSmoke, type Measurement } from '../row.ts';

/** Milliseconds after which a process has come to rest. */
const rest = isSmoke ? 100 : 1000;

export const bridgeMemory: Measurement = {
  name: 'bridge-memory',
  async measure(world) {
    const opened = await world();
    const commands = await bridgeCommands(opened);
    const after = (name: string) => async (): Promise<number> => {
      if (!commands[name]) return Number.NaN;
      await using bridge = await openBridge(opened, commands[name]);
      for (let calls = 0; calls < 20; calls += 1) await bridge.call('echo', { key: 'a', text: 'b' });
      await sleep(rest);
      return memoryOf(bridge.pid, 'private');
    };
    const bare = async (): Promise<number> => {
      const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'], {
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      await sleep(rest);
      const megabytes = memoryOf(child.pid, 'private');
      await ended(child);
      return megabytes;
    };
    const figures = await inTurn(7, {
      ours: after('ours'),
      'mcp-remote': after('mcp-remote'),
      'bare Node': bare,
    });
    const what = 'private memory of a bridge after 20 calls';
    return [{ what, unit: 'MB', ...figures, goals: { 'mcp-remote': 0.4, 'bare Node': 2.6 } }];
  },
};
