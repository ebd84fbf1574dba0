/**
 * Another program of the same user puts back, cuts or deletes vault.sealed, whose key lies in the keychain,
 * so that what the vault forgot or took note of would be undone.
 */
import { appendFileSync, copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Vault } from '../../src/vault/base/vault.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { intruder, startOn } from '../support/homes/authority-home.ts';
import { lastingKeychain, newPlace, opened, said } from '../vault/sealed/sealed-home.ts';

const copyOf = (file: string): string => `${file}.copy`;
const keep = (file: string): void => copyFileSync(file, copyOf(file));
const putBack = (file: string): void => copyFileSync(copyOf(file), file);

interface Scene {
  readonly file: string;
  readonly keychain: Vault;
  readonly open: () => Vault;
}

/** A sealed file with a revoked grant's mark and a token that was rotated since the copy. */
async function scene(): Promise<Scene> {
  const [file, keychain] = [newPlace(), lastingKeychain()];
  const open = (): Vault => opened(file, { kind: 'keychain', vault: keychain });
  const vault = open();
  await vault.write('grant.1', 'active, first token');
  keep(file);
  await vault.write('grant.1', 'revoked');
  await vault.close();
  return { file, keychain, open };
}

/** Nothing of it is read, and nothing is written to it. */
async function expectRefused(vault: Vault, what: string): Promise<void> {
  await expect(vault.read('grant.1')).rejects.toMatchObject({
    reason: 'vault_unreadable',
    message: expect.stringContaining(what),
    hint: expect.stringContaining('keyturn reset --yes'),
  });
  await expect(vault.write('grant.2', 'x')).rejects.toMatchObject({ reason: 'vault_unreadable' });
}

describe('an older copy of vault.sealed', () => {
  it('vault.sealed: is refused, and the newest one still opens', async () => {
    const { file, open } = await scene();
    const newest = `${file}.newest`;
    copyFileSync(file, newest);
    putBack(file);
    await expectRefused(open(), 'it is an older copy');
    copyFileSync(newest, file);
    expect(await said(open(), 'grant.1')).toBe('revoked');
  });

  it('vault.sealed: is refused where the file was written anew since', async () => {
    const { file, open } = await scene();
    const vault = open();
    for (let n = 0; n < 30; n++) await vault.write('grant.2', `${n} ${'x'.repeat(40_000)}`);
    await vault.close();
    putBack(file);
    await expectRefused(open(), 'it is an older copy');
  });

  it('vault.sealed: does not undo a removal', async () => {
    const { file, open } = await scene();
    const vault = open();
    await vault.remove('grant.1');
    await vault.close();
    putBack(file);
    await expectRefused(open(), 'it is an older copy');
  });

  it('vault.sealed: does not count where the broker was killed before the keychain knew of its last write, and wrote since', async () => {
    const { file, keychain, open } = await scene();
    keep(file);
    const branch = `${file}.branch`;
    const reached = Promise.withResolvers<void>();
    const dying = opened(file, {
      kind: 'keychain',
      vault: {
        kind: 'memory',
        find: (id) => keychain.find(id),
        read: (id) => keychain.read(id),
        write: () => {
          reached.resolve();
          return new Promise<void>(() => undefined);
        },
        remove: (id) => keychain.remove(id),
        probe: () => keychain.probe(),
        destroy: () => Promise.resolve(),
        close: () => Promise.resolve(),
      },
    });
    const written = dying.write('grant.1', 'of the branch');
    await Promise.race([reached.promise, written]);
    copyFileSync(file, branch);
    putBack(file);
    const honest = open();
    await honest.write('grant.1', 'revoked again');
    await honest.close();
    copyFileSync(branch, file);
    await expectRefused(open(), 'it is an older copy');
  });

  it('vault.sealed: is refused, damaged too: else the damage could be cut out behind the next change', async () => {
    const { file, keychain, open } = await scene();
    putBack(file);
    appendFileSync(file, 'x'.repeat(100));
    const damaged = readFileSync(file).length;
    const vault = open();
    // As the end of a grant does that only a forged line in the index names.
    await vault.remove('grant.2').catch(() => undefined);
    await vault.close();
    const bytes = readFileSync(file);
    writeFileSync(file, Buffer.concat([bytes.subarray(0, damaged - 100), bytes.subarray(damaged)]));
    await expectRefused(opened(file, { kind: 'keychain', vault: keychain }), 'it is an older copy');
  });

  it('vault.sealed: does not bring a removed program back together with an older document', async () => {
    const [folder, keychain] = [temporaryFolder(), lastingKeychain()];
    const file = path.join(folder, 'vault.sealed');
    const open = (): Vault => opened(file, { kind: 'keychain', vault: keychain });
    const vault = open();
    const broker = await startOn(folder, vault);
    const { id } = await broker.clients.add('editor', 0);
    await broker.clients.confirm(id);
    const other = intruder(folder);
    other.keeps('authority.json');
    keep(file);
    await broker.clients.remove(id);
    await vault.close();
    other.restores('authority.json');
    putBack(file);
    await expect(startOn(folder, open())).rejects.toMatchObject({ reason: 'vault_unreadable' });
  });
});

describe('vault.sealed', () => {
  it('vault.sealed: vault.sealed that was deleted is not made anew, and what the keychain knows of it stays', async () => {
    const { file, open } = await scene();
    const newest = `${file}.newest`;
    copyFileSync(file, newest);
    rmSync(file);
    await expectRefused(open(), 'it is gone, though the keychain has recorded it');
    copyFileSync(newest, file);
    expect(await said(open(), 'grant.1')).toBe('revoked');
  });
});
