/**
 * The keychain vault against a real gnome-keyring: the contract, what a crash leaves, and a locked keyring.
 */
import type { SpawnChild } from '../../../src/base/system/child.ts';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { forkWorker } from '../../../src/vault/keychain/keychain-process.ts';
import { ofFile } from '../../support/lasting.ts';
import { vaultContract } from '../contract.ts';
import { closedLater, keychainVault, said } from '../vaults.ts';
import { freshService, ownKeyring, rawItems, removeFreshItems, requireTestKeyring } from './keyring.ts';

beforeAll(requireTestKeyring);
afterAll(removeFreshItems);

vaultContract('keychain', () => keychainVault({ service: freshService() }), { isShared: true });

test('one keychain item is one vault item, and holds nothing readable', async () => {
  const service = freshService();
  const [vault, items] = [closedLater(keychainVault({ service })), rawItems(service)];
  onTestFinished(() => items.close());
  await vault.set('grant', 'a refresh token');
  await vault.set('grant', 'the next refresh token');
  const { default: keytar } = await import('keytar');
  const accounts = (await keytar.findCredentials(service)).map(({ account }) => account);
  expect(accounts.toSorted()).toEqual(['grant', 'root']);
  expect(await items.get('grant')).not.toContain('token');
});

describe('a locked keyring', () => {
  const lockedOrUnreadable = { reason: expect.stringMatching(/^(locked|vault_unreadable)$/) };

  /** One keyring for all, which may be locked: each test leaves it unlocked. */
  const session = ofFile(ownKeyring);
  const spawnWorker: SpawnChild = () => forkWorker(session.env);

  // The first one, since the keyring is still empty.
  test('is noticed even in a home that never stored anything', async () => {
    const vault = closedLater(keychainVault({ service: freshService(), spawnWorker }));
    await session.lock();
    await expect(vault.get('grant')).rejects.toMatchObject({ reason: 'locked' });
    await session.restartUnlocked();
  });

  test('PROMISE-9: never counts as empty: every call is locked or unreadable', async () => {
    const vault = closedLater(keychainVault({ service: freshService(), spawnWorker }));
    await vault.set('grant', 'kept');
    await session.lock();
    await expect(vault.get('grant')).rejects.toMatchObject(lockedOrUnreadable);
    await expect(vault.get('never')).rejects.toMatchObject(lockedOrUnreadable);
    await expect(vault.get('grant')).rejects.toMatchObject(lockedOrUnreadable);
    await expect(vault.set('grant', 'new')).rejects.toMatchObject(lockedOrUnreadable);
    await expect(vault.delete('grant')).rejects.toMatchObject(lockedOrUnreadable);
    await expect(vault.unlock()).rejects.toMatchObject({ ...lockedOrUnreadable, hint: expect.any(String) });
    await session.restartUnlocked();
    expect(await vault.get('grant')).toBe('kept');
  });

  test("can't be destroyed, and can be destroyed after unlocking", async () => {
    const service = freshService();
    const open = () => closedLater(keychainVault({ service, spawnWorker }));
    const vault = open();
    await vault.set('grant', 'kept');
    await session.lock();
    await expect(vault.destroy(['grant'])).rejects.toMatchObject(lockedOrUnreadable);
    await session.restartUnlocked();
    expect(await open().get('grant')).toBe('kept');
    await open().destroy(['grant']);
    expect(await said(open(), 'grant')).toBe('absent');
  });

  test('a keyring daemon that restarts is reached again', async () => {
    const vault = closedLater(keychainVault({ service: freshService(), spawnWorker }));
    await vault.set('grant', 'kept');
    await session.restartUnlocked();
    await vault.get('grant').catch(() => undefined);
    expect(await vault.get('grant')).toBe('kept');
  });
});
