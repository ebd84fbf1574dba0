/** Brokers killed in the middle of a change: what was answered counts, no file is refused, one step may be whole. */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { startOn } from '../support/authority-home.ts';
import { decisionOf, endpointOf, program, vaultIn } from '../support/authority-writer.ts';
import { temporaryFolder } from './rig.ts';

/** How many writers are killed. */
const kills = 8;
/** Milliseconds of writing, at most, before the kill: some dozen changes. */
const longestLife = 150;

vi.setConfig({ testTimeout: 180_000 });

type Decisions = Record<string, string>;

/** Lets a writer go on from step `from`, kills it at a random moment, and says which step was answered last. */
async function killedWriter(folder: string, from: number): Promise<number> {
  const script = path.join(import.meta.dirname, '..', 'support', 'authority-writer.ts');
  const child = spawn(process.execPath, [script, folder, String(from)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output === '') setTimeout(() => child.kill('SIGKILL'), randomInt(longestLife));
    output += text;
  });
  const signal = await new Promise((resolve) => {
    child.on('close', (_, by) => resolve(by));
  });
  expect(signal).toBe('SIGKILL');
  return Number(output.slice(0, output.lastIndexOf('\n')).split('\n').at(-1));
}

function after(before: Decisions, from: number, last: number): Decisions {
  const next = { ...before };
  for (let n = from; n <= last; n++) {
    const decision = decisionOf(n);
    if (decision === 'ended') delete next[endpointOf(n)];
    else next[endpointOf(n)] = decision;
  }
  return next;
}

test(`a change that was answered counts when its broker is killed, ${kills} times, and no file is refused`, async () => {
  const folder = temporaryFolder();
  let [decisions, from]: [Decisions, number] = [{}, 1];
  for (let round = 0; round < kills; round++) {
    const answered = await killedWriter(folder, from);
    expect(answered).toBeGreaterThanOrEqual(from);
    const vault = await vaultIn(folder);
    const survivor = await startOn(folder, vault);
    expect(survivor.troubles()).toEqual([]);
    const items = survivor.permissions.of(program, 0);
    const found = Object.fromEntries(items.map(({ endpoint, decision }) => [endpoint, decision]));
    // One step may have been under way: done whole, or not at all.
    const possible = [after(decisions, from, answered), after(decisions, from, answered + 1)];
    expect(possible).toContainEqual(found);
    await vault.close();
    [decisions, from] = [found, answered + 2];
  }
});
