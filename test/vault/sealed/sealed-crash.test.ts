/** Writers killed in the middle: acknowledged writes are there, and others are there whole or not at all. */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import path from 'node:path';
import { expect, test } from 'vitest';
import { newPlace, passphraseVault, said } from '../vaults.ts';
import { passphrase, step } from './sealed-writer.ts';

/** How many writers are killed; in the soak a hundred. */
const kills = process.env['KEYTURN_SOAK'] === '1' ? 100 : 8;
/** Milliseconds: half a minute for each kill, which only a hang takes. */
const patience = kills * 30_000;
/** Milliseconds of writing, at most, before the kill: some hundred writes. */
const maxLife = 250;

const script = path.join(import.meta.dirname, 'sealed-writer.ts');

/** Kills a writer at a random moment; answers the last step that it said. */
async function killedWriter(place: string, from: number): Promise<number> {
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

function after(state: ReadonlyMap<string, string>, from: number, last: number): Map<string, string> {
  const next = new Map(state);
  for (let n = from; n <= last; n++) {
    const { id, secret } = step(n);
    if (secret === undefined) next.delete(id);
    else next.set(id, secret);
  }
  return next;
}

test(
  `loses no acknowledged write when its writer is killed, ${kills} times`,
  { timeout: patience },
  async () => {
    const folder = newPlace();
    let state = new Map<string, string>();
    let from = 1;
    for (let round = 0; round < kills; round++) {
      const acknowledged = await killedWriter(folder, from);
      expect(acknowledged).toBeGreaterThanOrEqual(from);
      const survivor = passphraseVault(folder);
      await survivor.store.unlock(passphrase);
      const found = new Map<string, string>();
      for (let n = 0; n < 8; n++) {
        const secret = await said(survivor, `grant.${n}`);
        if (secret !== 'absent') found.set(`grant.${n}`, secret);
      }
      // One step may have been under way: done whole, or not at all.
      const possible = [after(state, from, acknowledged), after(state, from, acknowledged + 1)];
      // As plain objects: two Maps count as equal to the matcher whatever they hold.
      expect(possible.map((items) => Object.fromEntries(items))).toContainEqual(Object.fromEntries(found));
      await survivor.close();
      state = found;
      from = acknowledged + 2;
    }
  },
);
