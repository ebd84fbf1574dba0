/** What a bridge costs. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { bridgeCommands, type Call, direct, initialize, openBridge, spawnBridge } from '../bridges.ts';
import { ended, memoryOf } from '../process.ts';
import { inTurn, isSmoke, type Measurement, percentile, type Row, timesOf } from '../row.ts';

/** From the start of a bridge's process to its answer to `initialize`. The broker runs already. */
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

/** Milliseconds after which a process has come to rest. */
const rest = isSmoke ? 100 : 1000;

/** Private memory of a bridge after 20 calls, beside a Node process that only waits for its input. */
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

/** What a bridge adds to a call over HTTPS: the median of its calls beyond that of direct ones, call by call in turn. */
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

const times = (isSmoke ? 1 : 8) * 1024 * 1024;

/** A result of 8 MB through the bridge, and without it by the same client. */
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
