/** Brokers killed in the middle of a change: confirmed changes count, and no file is refused. */
import path from 'node:path';
import { expect, test } from 'vitest';
import { startOn } from '../support/homes/authority-home.ts';
import { decisionOf, endpointOf, program, vaultIn } from '../support/processes/authority-writer.ts';
import { killedWriter } from '../support/processes/killed-writer.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** How many writers are killed. */
const kills = 4;
/** Milliseconds of writing, at most, before the kill: some dozen changes. */
const maxLife = 150;

const script = path.join(import.meta.dirname, '..', 'support', 'processes', 'authority-writer.ts');

type Decisions = Record<string, string>;

function after(before: Decisions, from: number, last: number): Decisions {
  const next = { ...before };
  for (let n = from; n <= last; n++) {
    const decision = decisionOf(n);
    if (decision === 'ended') delete next[endpointOf(n)];
    else next[endpointOf(n)] = decision;
  }
  return next;
}

test(`a confirmed change survives a kill of its broker, ${kills} times, and no file is refused`, async () => {
  const folder = temporaryFolder();
  let [decisions, from]: [Decisions, number] = [{}, 1];
  for (let round = 0; round < kills; round++) {
    const answered = await killedWriter({ script, place: folder, from, maxLife });
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
