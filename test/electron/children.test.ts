/** The keychain's worker as Electron starts it: a real process, a real keyring, Electron's channel. */
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { spawnKeychainChild } from '../../electron/system/children.ts';
import { keychainVault } from '../vault/vaults.ts';
import { keychainWorkerFile } from '../../src/vault/keychain/keychain-process.ts';
import { double } from '../support/electron/electron-double.ts';
import { freshService, requireTestKeyring } from '../vault/keychain/keyring.ts';
import { getIfAny } from '../../src/vault/base/vault.ts';

beforeEach(() => void (double.isReady = true));

it('the keychain child keeps, shows and removes a secret', async () => {
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
