/** The process with token servers (refresh-process.ts). */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import process from 'node:process';
import { z } from 'zod';

export interface RefreshServers {
  readonly issuers: readonly string[];
  /** PEM text of the authority of all. */
  readonly ca: string;
  /** How many they have answered together. */
  readonly refreshes: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/** `serverTime`: milliseconds that each refresh takes. */
export async function startRefreshServers(serverTime: number, count = 1): Promise<RefreshServers> {
  const program = path.join(import.meta.dirname, 'refresh-process.ts');
  const child = spawn(process.execPath, [program, String(serverTime), String(count)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const said = z
    .object({ issuers: z.array(z.string()), ca: z.string() })
    .parse(JSON.parse(await lineOf(child)));
  return {
    ...said,
    async refreshes() {
      child.stdin.write('?');
      return Number(await lineOf(child));
    },
    async close() {
      const ended = once(child, 'close');
      child.kill();
      await ended;
    },
  };
}

async function lineOf(child: ChildProcess): Promise<string> {
  const { stdout } = child;
  if (!stdout) throw new Error('the servers have no output');
  const ended = once(child, 'close').then(() => [undefined]);
  const [line] = (await Promise.race([once(stdout, 'data'), ended])) as [Buffer | undefined];
  if (line === undefined) throw new Error('the servers have ended');
  return line.toString();
}
