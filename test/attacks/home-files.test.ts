/**
 * Another program of the same user writes, deletes or puts back authority.json, owner.key or broker.lock,
 * so that the home would begin anew with what that program left there.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { takeLock } from '../../src/daemon/home/single-instance.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { intruder, lastingVault, startOn } from '../support/homes/authority-home.ts';

const app = { id: 'mine', name: 'mine', generation: 1, pairedAt: 0, confirmed: true };
const permission = {
  clientId: 'mine',
  endpoint: 'https://notes.example/mcp',
  decision: 'allow',
  createdAt: 0,
};

/** A home that was used: its vault holds the root key. */
async function usedHome() {
  const [folder, vault] = [temporaryFolder(), lastingVault()];
  const broker = await startOn(folder, vault);
  await broker.apps.add('editor', 0);
  return { folder, vault };
}

describe('a document that Keyturn did not write', () => {
  it('authority.json: is ignored if the broker was killed right after it made the root key', async () => {
    const [folder, vault] = [temporaryFolder(), lastingVault()];
    const made = Promise.withResolvers<void>();
    const root = async (): Promise<never> => {
      await vault.root();
      made.resolve();
      return new Promise(() => undefined);
    };
    void startOn(folder, { ...vault, root });
    await made.promise;
    const attacker = intruder(folder);
    attacker.forges({ permissions: [{ ...permission, appId: 'cli' }] });
    const broker = await startOn(folder, vault);
    expect(() => broker.permissions.find('cli', permission.endpoint, 0)).toThrow("can't be read");
  });

  it('authority.json: is ignored if the vault was emptied, too', async () => {
    const { folder } = await usedHome();
    intruder(folder).forges({ apps: [app], permissions: [permission] });
    const emptied = lastingVault({ hadRoot: async () => true });
    await expect(startOn(folder, emptied)).rejects.toMatchObject({ reason: 'locked' });
  });
});

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

describe('broker.lock that was deleted', () => {
  it('broker.lock: lets no second broker of the home start', async () => {
    const folder = temporaryFolder();
    const unlock = await takeLock(folder);
    rmSync(path.join(folder, 'broker.lock'));
    await expect(takeLock(folder)).rejects.toMatchObject({ reason: 'broker_running' });
    unlock();
    const again = await takeLock(folder);
    again();
  });
});
