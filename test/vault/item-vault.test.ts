/** What it means that a store shows no item, and when the root key is made: with a keychain that can be locked at each call. */
import { describe, expect, test } from 'vitest';
import { rootItem, type ItemStore } from '../../src/vault/base/item-store.ts';
import { MissingItem } from '../../src/vault/base/trouble.ts';
import { memoryKeychain, type Keychain } from './doubles.ts';
import { said, vaultOver } from './vaults.ts';

const used = { hadRoot: async () => true };

/** Calls `at` before each call of the store, with its number. */
function counted(keychain: Keychain, at: (call: number) => void): ItemStore {
  let calls = 0;
  const next = (): void => at((calls += 1));
  return {
    ...keychain,
    get: (name) => (next(), keychain.get(name)),
    set: (name, value) => (next(), keychain.set(name, value)),
    delete: (name) => (next(), keychain.delete(name)),
    replace: (name, before, value) => (next(), keychain.replace(name, before, value)),
  };
}

/** With the item `grant`. */
async function usedKeychain(): Promise<Keychain> {
  const keychain = memoryKeychain();
  await vaultOver(keychain).set('grant', 'kept');
  keychain.changes.length = 0;
  return keychain;
}

describe('an item that a keychain does not show', () => {
  test('is missing if the root key shows', async () => {
    await expect(vaultOver(await usedKeychain()).get('never')).rejects.toThrow(MissingItem);
  });

  test('is locked if the root key does not show either, and nothing is stored or deleted', async () => {
    const keychain = await usedKeychain();
    const vault = vaultOver(keychain, used);
    await vault.root();
    keychain.isLocked = true;
    expect(await said(vault, 'grant')).toBe('locked');
    expect(await said(vaultOver(keychain, used), 'grant')).toBe('locked');
    await expect(vault.delete('grant')).rejects.toMatchObject({ reason: 'locked' });
    await expect(vault.replace('grant', undefined, 'x')).rejects.toMatchObject({ reason: 'locked' });
    keychain.isLocked = false;
    expect(await said(vault, 'grant')).toBe('kept');
    expect(keychain.changes).toEqual([]);
  });

  test.each([1, 2, 3, 4, 5])(
    'is never missing because the keychain is unlocked before call %d',
    async (unlocked) => {
      const keychain = await usedKeychain();
      const vault = vaultOver(
        counted(keychain, (call) => (keychain.isLocked = call > 1 && call < unlocked)),
        used,
      );
      expect(['kept', 'locked']).toContain(await said(vault, 'grant'));
    },
  );

  test.each([1, 2, 3, 4, 5, 6])(
    'is never deleted for good while it is there: locked until call %d',
    async (unlocked) => {
      const keychain = await usedKeychain();
      const store = counted(keychain, (call) => (keychain.isLocked = call > 1 && call < unlocked));
      const outcome = await vaultOver(store, used)
        .delete('grant')
        .then(
          () => 'deleted',
          () => 'refused',
        );
      expect(keychain.items.has('grant')).toBe(outcome === 'refused' && keychain.changes.length === 0);
    },
  );
});

describe('another keychain', () => {
  test('whose root key is another one is not taken for this home’s', async () => {
    const [ours, theirs] = [await usedKeychain(), await usedKeychain()];
    theirs.items.delete('grant');
    let shown = ours;
    const vault = vaultOver(
      { ...ours, get: (name) => shown.get(name), delete: (name) => shown.delete(name) },
      used,
    );
    await vault.root();
    shown = theirs;
    expect(await said(vault, 'grant')).toBe('vault_unreadable');
    await expect(vault.delete('grant')).rejects.toMatchObject({ reason: 'vault_unreadable' });
    expect(ours.items.has('grant')).toBe(true);
  });

  test('gets no value that it can read, and no value of its own is taken', async () => {
    const [ours, theirs] = [await usedKeychain(), await usedKeychain()];
    const vault = vaultOver({ ...theirs, get: (name) => ours.get(name) }, used);
    await vault.set('grant', 'the next token').catch(() => undefined);
    expect(await said(vaultOver(theirs, used), 'grant')).toBe('vault_unreadable');
    ours.items.set('grant', theirs.items.get('grant') ?? '');
    expect(await said(vault, 'grant')).toBe('the next token');
    ours.items.set('grant', (await usedKeychain()).items.get('grant') ?? '');
    expect(await said(vault, 'grant')).toBe('vault_unreadable');
  });

  test('of an item that is put under another name, or in another home, nothing is read', async () => {
    const keychain = await usedKeychain();
    keychain.items.set('other', keychain.items.get('grant') ?? '');
    await expect(vaultOver(keychain).get('other')).rejects.toThrow(/item "other" can't be read/);
    expect(await said(vaultOver(keychain, { homeId: 'copy' }), 'grant')).toBe('vault_unreadable');
  });
});

describe('the root key', () => {
  test('is set once in the life of a home', async () => {
    const keychain = memoryKeychain();
    const calls = [keychain, keychain].map((store) => vaultOver(store));
    await Promise.all(calls.map(async (vault) => vault.set('a', 'x')));
    await Promise.all([
      vaultOver(keychain).set('b', 'x'),
      vaultOver(keychain).root(),
      vaultOver(keychain).unlock(),
    ]);
    expect(keychain.changes.filter((change) => change === `set ${rootItem}`)).toHaveLength(1);
  });

  test('is not replaced in a home that seems new, if the keychain was only locked', async () => {
    const keychain = await usedKeychain();
    const root = keychain.items.get(rootItem);
    keychain.isLocked = true;
    await expect(vaultOver(keychain).root()).rejects.toMatchObject({ reason: 'locked' });
    // A user opens it when it is asked to store something.
    const asked: ItemStore = {
      ...keychain,
      createRoot(fresh) {
        keychain.isLocked = false;
        return keychain.createRoot(fresh);
      },
    };
    expect((await vaultOver(asked).root()).export().toString('base64url')).toBe(root);
  });
});

describe('a vault that is locked', () => {
  test('refuses everything but `newest`, and asks the keychain for nothing else', async () => {
    const keychain = await usedKeychain();
    const vault = vaultOver(keychain);
    await vault.set('newest', '1');
    vault.lock();
    const refused = { reason: 'locked' };
    await expect(vault.get('grant')).rejects.toMatchObject(refused);
    await expect(vault.set('grant', 'x')).rejects.toMatchObject(refused);
    await expect(vault.delete('grant')).rejects.toMatchObject(refused);
    await expect(vault.root()).rejects.toMatchObject(refused);
    expect(await vault.replace('newest', '1', '2')).toBe('2');
    expect(await vault.get('newest')).toBe('2');
    await vault.unlock();
    expect(await vault.get('grant')).toBe('kept');
  });

  test('at a moment when it reads the root key holds no key afterwards', async () => {
    const keychain = await usedKeychain();
    const held = Promise.withResolvers<void>();
    const slow = { ...keychain, get: async (name: string) => (await held.promise, keychain.get(name)) };
    const vault = vaultOver(slow);
    const asked = vault.get('grant');
    vault.lock();
    held.resolve();
    await expect(asked).rejects.toMatchObject({ reason: 'locked' });
    await expect(vault.get('newest')).rejects.toMatchObject({ reason: 'locked' });
  });
});
