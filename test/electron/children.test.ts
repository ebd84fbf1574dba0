/** The keychain's worker as Electron starts it: a real process, a real keyring, Electron's channel. */
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { spawnKeychainChild } from '../../electron/system/children.ts';
import { keychainVault } from '../vault/vaults.ts';
import { keychainWorkerFile } from '../../src/vault/keychain/keychain-process.ts';
import { double } from '../support/electron/electron-double.ts';
import { freshService, rawItems, requireTestKeyring } from '../vault/keychain/keyring.ts';
import { getIfAny } from '../../src/vault/base/vault.ts';

describe('the keychain child', () => {
  beforeEach(() => void (double.isReady = true));

  it('keeps, shows and removes a secret', async () => {
    requireTestKeyring();
    // The files of a project share processes and so the double, which lists the children of earlier files first.
    const earlier = double.children.length;
    const vault = keychainVault({ service: freshService(), spawnWorker: spawnKeychainChild });
    onTestFinished(() => vault.close());
    await vault.set('item', 'a secret');
    expect(await getIfAny(vault, 'item')).toBe('a secret');
    await vault.delete('item');
    expect(await getIfAny(vault, 'item')).toBeUndefined();
    expect(new Set(double.children.slice(earlier))).toEqual(new Set([keychainWorkerFile]));
  });

  it('does nothing more once it was ended, even before it ran', async () => {
    requireTestKeyring();
    const service = freshService();
    const child = spawnKeychainChild();
    const gone = new Promise<void>((resolve) => child.onExit(resolve));
    child.post({ id: 1, op: 'set', service, account: 'item', value: 'late' });
    child.kill();
    await gone;
    const items = rawItems(service);
    onTestFinished(() => items.close());
    expect(await items.get('item')).toBeUndefined();
  });

  it('ends at a message that it can’t read, and takes an environment with empty places', async () => {
    const child = spawnKeychainChild({ ...process.env, EMPTY: undefined });
    const gone = new Promise<void>((resolve) => child.onExit(resolve));
    child.post({ op: 'unknown' });
    await gone;
  });
});
