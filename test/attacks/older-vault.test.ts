/**
 * Another program of the same user puts back, exchanges or deletes files of the folder `items`, whose root key is in the
 * keychain, so that what was taken away would be undone, or a token would go elsewhere.
 */
import { copyFileSync, cpSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { intruder, startOn } from '../support/homes/authority-home.ts';
import { memoryKeychain } from '../vault/doubles.ts';
import { newPlace, said, sealedVault } from '../vault/vaults.ts';

describe('a file of the folder items', () => {
  it('an older, foreign or missing one harms its own item only', async () => {
    const [folder, keychain] = [newPlace(), memoryKeychain()];
    const vault = sealedVault(folder, keychain);
    const file = (name: string): string => path.join(folder, name);
    for (const name of ['s-1', 's-2', 's-3', 's-4']) await vault.set(name, `${name} first`);
    copyFileSync(file('s-1'), path.join(folder, '..', 'kept'));
    await vault.set('s-1', 's-1 second');
    renameSync(path.join(folder, '..', 'kept'), file('s-1'));
    copyFileSync(file('s-4'), file('s-2'));
    rmSync(file('s-3'));
    const after = sealedVault(folder, keychain);
    // A spent token: the server refuses it, and Keyturn says so.
    expect(await said(after, 's-1')).toBe('s-1 first');
    expect(await said(after, 's-2')).toBe('vault_unreadable');
    expect(await said(after, 's-3')).toBe('absent');
    expect(await said(after, 's-4')).toBe('s-4 first');
  });

  it('files sealed by another keychain’s key are refused, and ours stay closed to it', async () => {
    const [ours, theirs] = [newPlace(), newPlace()];
    const [keychain, other] = [memoryKeychain(), memoryKeychain()];
    await sealedVault(ours, keychain).set('s-1', 'ours');
    await sealedVault(theirs, other).set('s-1', 'theirs');
    cpSync(theirs, ours, { recursive: true });
    expect(await said(sealedVault(ours, keychain), 's-1')).toBe('vault_unreadable');
    expect(await said(sealedVault(ours, memoryKeychain()), 's-1')).toBe('vault_unreadable');
  });

  it('an older folder and document together restore no removed program', async () => {
    const [home, keychain] = [temporaryFolder(), memoryKeychain()];
    const folder = path.join(home, 'items');
    const vault = sealedVault(folder, keychain);
    const broker = await startOn(home, vault);
    const { id } = await broker.apps.add('editor', 0);
    await broker.apps.confirm(id);
    const attacker = intruder(home);
    attacker.keeps('authority.json');
    await vault.set('s-1', 'x');
    cpSync(folder, `${folder}.kept`, { recursive: true });
    await broker.apps.remove(id);
    await vault.close();
    attacker.restores('authority.json');
    rmSync(folder, { recursive: true });
    renameSync(`${folder}.kept`, folder);
    const next = await startOn(home, sealedVault(folder, keychain));
    expect(() => next.apps.usable(id, 0)).toThrow('is not the newest one');
  });
});
