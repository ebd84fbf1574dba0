/** Starts attacker.ts as a process, and ends it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { onTestFinished } from 'vitest';
import * as z from 'zod';

export interface Attack {
  readonly pid: number;
  /** Ends it, and says how often each thing happened. */
  stop(): Promise<Record<string, number>>;
}

const script = path.join(import.meta.dirname, 'attacker.ts');

/** Resolves once the attack is in full swing. */
export async function attack(mode: string, ...args: string[]): Promise<Attack> {
  const child = spawn(process.execPath, [script, mode, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => end(child));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return {
    pid: child.pid ?? 0,
    stop: async () => {
      child.stdin.end();
      const last = await lines.next();
      await end(child);
      return z.record(z.string(), z.number()).parse(JSON.parse(String(last.value)));
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
