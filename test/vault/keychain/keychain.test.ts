/**
 * The keychain vault against a real gnome-keyring: the contract, what a crash leaves, and a locked keyring.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { SpawnWorker } from '../../../src/vault/keychain/keychain-process.ts';
import { forkWorker } from '../../../src/vault/keychain/keychain-process.ts';
import { keychainVault } from '../../../src/vault/keychain/keychain.ts';
import { chunkLength } from '../../../src/vault/keychain/slots.ts';
import type { Items } from '../../../src/vault/keychain/slots.ts';
import type { Vault } from '../../../src/vault/base/vault.ts';
import { vaultContract } from '../contract.ts';
import { freshService, ownKeyring, rawItems, removeFreshItems, requireTestKeyring } from './keyring.ts';
import type { KeyringSession } from './keyring.ts';

beforeAll(requireTestKeyring);
afterAll(removeFreshItems);

const closing: { close(): void | Promise<void> }[] = [];
afterEach(async () => {
  for (const part of closing.splice(0).toReversed()) await part.close();
});

function closedLater<T extends { close(): void | Promise<void> }>(part: T): T {
  closing.push(part);
  return part;
}

/** A vault, and direct access to the same items. */
function vaultAndItems(): { vault: Vault; items: Items } {
  const service = freshService();
  return {
    vault: closedLater(keychainVault({ service })),
    items: closedLater(rawItems(service)),
  };
}

/** Every account of `id` that is there. */
async function accountsOf(items: Items, id: string): Promise<string[]> {
  const names = ['head', '0', '1', '2', '3', '4'];
  const accounts = ['a', 'b'].flatMap((slot) => names.map((name) => `${id}/${slot}/${name}`));
  const seen: string[] = [];
  for (const account of accounts) if ((await items.get(account)) !== undefined) seen.push(account);
  return seen;
}

vaultContract('keychain', () => keychainVault({ service: freshService() }), { isShared: true });

describe('two slots', () => {
  const old = 'the old refresh token';
  /** Two and a half chunks. */
  const long = 'n'.repeat(chunkLength * 2);

  /** For all tests that leave the vault usable: a worker each, and each test finds it without an item. */
  let vault: Vault;
  let items: ReturnType<typeof rawItems>;
  beforeAll(() => {
    const service = freshService();
    vault = keychainVault({ service });
    items = rawItems(service);
  });
  afterEach(async () => {
    await vault.remove('grant');
    expect(await accountsOf(items, 'grant')).toEqual([]);
  });
  afterAll(async () => {
    await vault.close();
    items.close();
  });

  test('a new value goes to the other slot, and the old slot is emptied', async () => {
    await vault.write('grant', long);
    expect(await accountsOf(items, 'grant')).toEqual(['grant/a/head', 'grant/a/0', 'grant/a/1', 'grant/a/2']);
    await vault.write('grant', old);
    expect(await accountsOf(items, 'grant')).toEqual(['grant/b/head', 'grant/b/0']);
    await vault.remove('grant');
    expect(await accountsOf(items, 'grant')).toEqual([]);
  });

  test('no item of a long secret is larger than the smallest store accepts', async () => {
    await vault.write('grant', long);
    for (const account of await accountsOf(items, 'grant'))
      expect((await items.get(account))?.length).toBeLessThanOrEqual(1280);
  });

  test('PROMISE-3: a crash between the chunks and the head keeps the old value, and the next write clears up', async () => {
    await vault.write('grant', old);
    for (const n of [0, 1, 2]) await items.set(`grant/b/${n}`, 'bmV3');
    expect(await vault.read('grant')).toBe(old);
    await vault.write('grant', 'newer');
    expect(await vault.read('grant')).toBe('newer');
    expect(await accountsOf(items, 'grant')).toEqual(['grant/b/head', 'grant/b/0']);
  });

  test('a crash between the new head and the removal of the old slot shows the new value', async () => {
    await vault.write('grant', old);
    const [head, chunk] = [await items.get('grant/a/head'), await items.get('grant/a/0')];
    await vault.write('grant', 'newer');
    await items.set('grant/a/0', String(chunk));
    await items.set('grant/a/head', String(head));
    expect(await vault.read('grant')).toBe('newer');
    await vault.write('grant', 'newest');
    expect(await vault.read('grant')).toBe('newest');
    await vault.remove('grant');
    expect(await accountsOf(items, 'grant')).toEqual([]);
  });

  test.each([
    ['is damaged', (stored: Items) => stored.set('grant/b/1', 'x'.repeat(chunkLength))],
    ['is missing', (stored: Items) => stored.remove('grant/b/1')],
  ])('where a chunk of the newer slot %s, the older generation is read', async (_, damage) => {
    await vault.write('grant', old);
    const [head, chunk] = [await items.get('grant/a/head'), await items.get('grant/a/0')];
    await vault.write('grant', long);
    await items.set('grant/a/0', String(chunk));
    await items.set('grant/a/head', String(head));
    await damage(items);
    expect(await vault.read('grant')).toBe(old);
  });

  test('if no slot is valid, the item is unreadable and stays, and a new write replaces it', async () => {
    await vault.write('grant', long);
    await items.set('grant/a/0', 'damaged');
    await items.set('grant/b/head', '{"generation":7');
    await expect(vault.find('grant')).rejects.toMatchObject({ reason: 'vault_unreadable' });
    await expect(vault.read('grant')).rejects.toMatchObject({ reason: 'vault_unreadable' });
    expect(await accountsOf(items, 'grant')).toHaveLength(5);
    await vault.write('grant', 'signed in again');
    expect(await vault.read('grant')).toBe('signed in again');
  });

  test('an interrupted removal restores no old value and can be repeated', async () => {
    await vault.write('grant', long);
    await items.remove('grant/a/0');
    await expect(vault.find('grant')).rejects.toMatchObject({ reason: 'vault_unreadable' });
    await vault.remove('grant');
    expect(await vault.find('grant')).toBeUndefined();
    expect(await accountsOf(items, 'grant')).toEqual([]);
  });

  test('destroying a vault removes all its items, including its own metadata', async () => {
    const own = vaultAndItems();
    await own.vault.write('grant', long);
    await own.vault.write('grant', old);
    await own.vault.probe();
    // The state after a crash between the chunks and the head.
    for (const n of [0, 1]) await own.items.set(`grant/a/${n}`, 'bmV3');
    await own.vault.destroy(['grant', 'never']);
    expect(await accountsOf(own.items, 'grant')).toEqual([]);
    expect(await own.items.get('_witness')).toBeUndefined();
    expect(await own.items.get('_probe')).toBeUndefined();
  });

  test('another home on the same keychain finds none of these items', async () => {
    await vault.write('grant', old);
    expect(await vaultAndItems().vault.find('grant')).toBeUndefined();
  });
});

describe('a locked keyring', () => {
  const lockedOrUnreadable = { reason: expect.stringMatching(/^(locked|vault_unreadable)$/) };

  /** One keyring for all, which may be locked: each test leaves it unlocked. */
  let session: KeyringSession;
  beforeAll(async () => {
    session = await ownKeyring();
  });
  afterAll(() => session.end());
  const spawnWorker: SpawnWorker = () => forkWorker(session.env);

  // The first one, since the keyring is still empty.
  test('a locked keyring is noticed even in a home that never stored anything', async () => {
    const vault = closedLater(keychainVault({ service: freshService(), spawnWorker }));
    await session.lock();
    await expect(vault.find('grant')).rejects.toMatchObject({ reason: 'locked' });
    await session.restartUnlocked();
  });

  test('PROMISE-9: a locked keyring never counts as empty: every call is locked or unreadable', async () => {
    const vault = closedLater(keychainVault({ service: freshService(), spawnWorker }));
    await vault.write('grant', 'kept');
    await session.lock();
    await expect(vault.find('grant')).rejects.toMatchObject(lockedOrUnreadable);
    await expect(vault.find('never')).rejects.toMatchObject(lockedOrUnreadable);
    await expect(vault.read('grant')).rejects.toMatchObject(lockedOrUnreadable);
    await expect(vault.write('grant', 'new')).rejects.toMatchObject(lockedOrUnreadable);
    await expect(vault.remove('grant')).rejects.toMatchObject(lockedOrUnreadable);
    await expect(vault.probe()).rejects.toMatchObject({ ...lockedOrUnreadable, hint: expect.any(String) });
    await session.restartUnlocked();
    expect(await vault.read('grant')).toBe('kept');
  });

  test("a vault whose keyring is locked can't be destroyed, and can be destroyed after unlocking", async () => {
    const service = freshService();
    const open = () => closedLater(keychainVault({ service, spawnWorker }));
    const vault = open();
    await vault.write('grant', 'kept');
    await session.lock();
    await expect(vault.destroy(['grant'])).rejects.toMatchObject(lockedOrUnreadable);
    await session.restartUnlocked();
    expect(await open().read('grant')).toBe('kept');
    await open().destroy(['grant']);
    expect(await open().find('grant')).toBeUndefined();
  });

  test('a write fails if the keyring locks in the middle, and the old value is there after unlocking', async () => {
    const service = freshService();
    const before = closedLater(keychainVault({ service, spawnWorker }));
    await before.write('grant', 'kept');
    const locking = locksBeforeSet(2, session, spawnWorker);
    const vault = closedLater(keychainVault({ service, spawnWorker: locking }));
    const long = 'n'.repeat(chunkLength * 3);
    await expect(vault.write('grant', long)).rejects.toMatchObject({ reason: 'locked' });
    await expect(vault.find('grant')).rejects.toMatchObject(lockedOrUnreadable);
    await session.restartUnlocked();
    expect(await vault.read('grant')).toBe('kept');
  });

  test('a keyring daemon that restarts is reached again, at the second call at the latest', async () => {
    const vault = closedLater(keychainVault({ service: freshService(), spawnWorker }));
    await vault.write('grant', 'kept');
    await session.restartUnlocked();
    await vault.read('grant').catch(() => undefined);
    expect(await vault.read('grant')).toBe('kept');
  });
});

/** The real worker; the keyring locks just before the nth value is stored. */
function locksBeforeSet(nth: number, session: KeyringSession, spawnWorker: SpawnWorker): SpawnWorker {
  let sets = 0;
  return () => {
    const worker = spawnWorker();
    const post = (message: unknown): void => {
      const isSet = (message as { op: string }).op === 'set';
      if (isSet) sets += 1;
      if (isSet && sets === nth) void session.lock().then(() => worker.post(message));
      else worker.post(message);
    };
    return { ...worker, post };
  };
}

test('without D-Bus the keychain is unavailable, and the hint says what to do', async () => {
  const env = { ...process.env, DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent/bus' };
  const vault = closedLater(keychainVault({ service: freshService(), spawnWorker: () => forkWorker(env) }));
  const unavailable = {
    reason: 'vault_unavailable',
    hint: expect.stringContaining('keyturn settings vault sealed-file'),
  };
  await expect(vault.find('grant')).rejects.toMatchObject(unavailable);
  await expect(vault.write('grant', 'x')).rejects.toMatchObject(unavailable);
  await expect(vault.probe()).rejects.toMatchObject(unavailable);
});
