/** A command in a terminal of its own, which ends with the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { builtBin } from '../built.ts';
import { isAlive, type TestHome, until } from '../home.ts';
import { python } from './python.ts';

/** A command in a terminal of its own. */
export function inTerminal(home: TestHome, command: readonly string[], more: NodeJS.ProcessEnv = {}) {
  const script = path.join(import.meta.dirname, 'terminal.py');
  const child = spawn(python(), [script, ...command], {
    env: { ...home.env, ...more, HISTFILE: '/dev/null', PS1: '$ ', TERM: 'dumb' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill();
    await ended;
    await until('what ran there ends', () => !isAlive(child.pid ?? 0));
  });
  return {
    ended,
    type: (typed: string) => void child.stdin.write(typed),
    shown: () => text,
    shows: async (pattern: RegExp) => until(`the terminal shows ${pattern}`, () => pattern.exec(text)),
  };
}

/** The built command in a terminal of its own. */
export const keyturnInTerminal = (home: TestHome, ...words: readonly string[]) =>
  inTerminal(home, [process.execPath, builtBin, ...words]);

export type Terminal = ReturnType<typeof inTerminal>;
