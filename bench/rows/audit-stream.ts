/**
 * A token in memory, while 1,000 audit rows a second are written to a disk that takes 100 ms for each sync (slow-sync.c): the
 * request waits for none of it.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { homePaths } from '../../src/base/paths.ts';
import { connect } from '../../src/client/index.ts';
import { isSmoke } from '../form.ts';
import { medianOf, percentileOf } from '../median.ts';
import { inTurn, type Measurement } from '../row.ts';
import { slowestOf, timesOf } from './hang.ts';

const bench = path.join(import.meta.dirname, '..');

/** Milliseconds of one turn: five times as long as rows wait for being written together. */
const time = 5000;

export const auditStream: Measurement = {
  name: 'audit-stream',
  async measure({ world }) {
    const { resource, sealedHomeAt } = await world();
    const home = await sealedHomeAt(resource);
    try {
      const disk = slowDisk(home.folder);
      const broker = spawn(process.execPath, [path.join(bench, 'audited-broker.ts')], {
        env: { ...home.env, ...disk },
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      await once(broker.stdout, 'data');
      const connection = await connect({ name: 'bench', env: home.env });
      await connection.getToken({ resource });
      const log = path.join(homePaths(home.env).state, 'audit.jsonl');
      const written = (): number => readFileSync(log, 'utf8').split('\n').length;
      const [turns, turn] = isSmoke ? [1, 50] : [5, time];
      const longest: number[] = [];
      let rows = 0;
      const figures = await inTurn(turns, {
        ours: async () => {
          const before = written();
          broker.stdin.write('+');
          const times = await timesOf(connection, resource, turn);
          broker.stdin.write('-');
          rows += (await settled(written, isSmoke ? 0 : 1500)) - before;
          longest.push(times.reduce((most, next) => Math.max(most, next)));
          return percentileOf(times, 0.99);
        },
        idle: async () => slowestOf(connection, resource, turn),
      });
      connection.close();
      const ended = once(broker, 'close');
      broker.kill();
      await ended;
      const slowness = disk ? 'takes 100 ms for each sync' : 'is as fast as it is (no compiler)';
      return {
        name: 'audit-stream',
        what: `token.get, 99th percentile, under 1,000 audit rows a second (written: ${rows} in ${turns} turns) on a disk that ${slowness}; the longest ${medianOf(longest).toFixed(1)} ms`,
        unit: 'ms',
        ...figures,
        goals: [{ of: 'idle', atMost: 1.5 }],
      };
    } finally {
      await home.close();
    }
  },
};

/** What is written once nothing was added to it for so many milliseconds. */
async function settled(written: () => number, pause: number): Promise<number> {
  for (let last = written(); ;) {
    await sleep(pause);
    const now = written();
    if (now === last) return now;
    last = now;
  }
}

/** The variables that make it slow. Undefined where there is no C compiler, or no library can be put before others. */
function slowDisk(folder: string): Readonly<Record<string, string>> | undefined {
  if (process.platform !== 'linux') return undefined;
  const library = path.join(folder, 'slow-sync.so');
  const source = path.join(bench, 'slow-sync.c');
  try {
    execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl'], { stdio: 'ignore' });
    return { LD_PRELOAD: library };
  } catch {
    return undefined;
  }
}
