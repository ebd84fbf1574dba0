/**
 * Another program of the same user writes, deletes or puts back authority.json, owner.key or broker.lock,
 * so that the home would begin anew with what that program left there.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { lastingVault, startOn } from '../support/homes/authority-home.ts';

/** A home that was used: its vault holds the root key. */
async function usedHome() {
  const [folder, vault] = [temporaryFolder(), lastingVault()];
  const broker = await startOn(folder, vault);
  await broker.apps.add('editor', 0);
  return { folder, vault };
}

describe('a key file', () => {
  it('owner.key: of the owner, deleted or rewritten, changes no permission', async () => {
    const { folder, vault } = await usedHome();
    const before = await startOn(folder, vault);
    const [paired] = before.apps.all();
    rmSync(path.join(folder, 'config', 'owner.key'));
    const after = await startOn(folder, vault);
    expect(after.apps.all()).toEqual([paired]);
    expect(after.troubles()).toEqual([]);
  });

  it('owner.key: with another home’s id opens nothing here', async () => {
    const { folder, vault } = await usedHome();
    const file = path.join(folder, 'config', 'owner.key');
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(/"brokerId":"[^"]*"/, `"brokerId":"${'A'.repeat(22)}"`),
    );
    const broker = await startOn(folder, vault);
    expect(() => broker.records.apps.items).toThrow("can't be read, or Keyturn did not write it");
  });

  it('apps/NAME.key: of a removed program opens nothing, even if its name was paired again', async () => {
    const { folder, vault } = await usedHome();
    const { apps } = await startOn(folder, vault);
    const old = apps.resolve('editor');
    await apps.remove(old);
    await apps.add('editor', 0);
    const next = await startOn(folder, vault);
    expect(next.apps.usable(old, 0)).toBeUndefined();
  });
});
