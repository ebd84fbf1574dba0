/** A process that writes step after step, and says each on a line of its stdout once it counts, until it is killed. */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { expect } from 'vitest';

/**
 * Kills it at a random moment, `maxLife` milliseconds after its first word at most; answers the last step that it said.
 * `script` takes the place and the number of its first step.
 */
export async function killedWriter(
  script: string,
  place: string,
  from: number,
  maxLife: number,
): Promise<number> {
  const child = spawn(process.execPath, [script, place, String(from)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output === '') setTimeout(() => child.kill('SIGKILL'), randomInt(maxLife));
    output += text;
  });
  const signal = await new Promise((resolve) => {
    child.on('close', (_, by) => resolve(by));
  });
  expect(signal).toBe('SIGKILL');
  // What follows the last line end is half a word.
  return Number(output.slice(0, output.lastIndexOf('\n')).split('\n').at(-1));
}
