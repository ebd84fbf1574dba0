/** The folder of sealed files: the contract, its passphrase, what it refuses to read, and a disk that refuses to write. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { vaultContract } from '../contract.ts';
import { onFullDisk } from '../../support/processes/limited.ts';
import { memoryKeychain } from '../doubles.ts';
import { newPlace, passphraseVault, said, sealedVault, type PassphraseVault } from '../vaults.ts';

const correct = 'correct horse';
const locked = { reason: 'locked' };

async function unlocked(folder = newPlace()): Promise<PassphraseVault> {
  const vault = passphraseVault(folder);
  await vault.store.unlock(correct);
  return vault;
}

vaultContract('sealed-file', () => sealedVault(newPlace(), memoryKeychain()));

test('one file an item, and only the root key and `newest` in the keychain', async () => {
  const [folder, keychain] = [newPlace(), memoryKeychain()];
  const vault = sealedVault(folder, keychain);
  for (const name of ['a', 'b', 'newest']) await vault.set(name, 'x');
  expect(readdirSync(folder)).toEqual(['a', 'b']);
  expect([...keychain.items.keys()]).toEqual(['root', 'newest']);
  await vault.destroy([]);
  expect(existsSync(folder)).toBe(false);
  expect(keychain.items.size).toBe(0);
});

describe('the passphrase', () => {
  test('a wrong one is refused without being repeated, and changes nothing', async () => {
    const vault = await unlocked();
    await vault.set('a', 'kept');
    const wrong: unknown = await vault.store.unlock('wrong battery').catch((error: unknown) => error);
    expect(wrong).toMatchObject(locked);
    expect(`${String(wrong)} ${JSON.stringify(wrong)}`).not.toContain('battery');
    expect(await vault.get('a')).toBe('kept');
  });

  test('is accepted in two Unicode forms', async () => {
    const vault = passphraseVault(newPlace());
    await vault.store.unlock('Schl\u00fcssel');
    await vault.store.unlock('Schlu\u0308ssel');
  });

  test('a new one replaces one file: the old opens nothing, and all items stay', async () => {
    const folder = newPlace();
    const vault = await unlocked(folder);
    await vault.set('a', 'kept');
    const [root, before] = [await vault.root(), readFileSync(path.join(folder, 'a'))];
    await expect(vault.store.changePassphrase('guess', 'new one')).rejects.toMatchObject(locked);
    await vault.store.changePassphrase(correct, 'new one');
    expect(readFileSync(path.join(folder, 'a'))).toEqual(before);
    const again = passphraseVault(folder);
    await expect(again.store.unlock(correct)).rejects.toMatchObject(locked);
    await again.store.unlock('new one');
    expect(await again.get('a')).toBe('kept');
    expect((await again.root()).equals(root)).toBe(true);
  });

  test('a change killed at any step leaves the old one or the new one', async () => {
    const folder = newPlace();
    const vault = await unlocked(folder);
    await vault.set('a', 'kept');
    const file = path.join(folder, 'root');
    const old = readFileSync(file);
    await vault.store.changePassphrase(correct, 'new one');
    const next = readFileSync(file);
    // A draft is written, and then takes the place of the file.
    const states: [Buffer, Buffer | undefined, string][] = [
      [old, Buffer.alloc(0), correct],
      [old, next.subarray(0, 50), correct],
      [old, next, correct],
      [next, undefined, 'new one'],
    ];
    for (const [whole, draft, opens] of states) {
      writeFileSync(file, whole);
      if (draft) writeFileSync(`${file}.0123456789ab.new`, draft, { mode: 0o600 });
      const after = passphraseVault(folder);
      const other = opens === correct ? 'new one' : correct;
      await expect(after.store.unlock(other)).rejects.toMatchObject(locked);
      await after.store.unlock(opens);
      expect(await after.get('a')).toBe('kept');
      rmSync(`${file}.0123456789ab.new`, { force: true });
    }
  });

  test('is not asked for again where its file is gone: the key of all items went with it', async () => {
    const folder = newPlace();
    const vault = await unlocked(folder);
    await vault.set('a', 'kept');
    renameSync(path.join(folder, 'root'), path.join(folder, '..', 'saved'));
    const later = passphraseVault(folder);
    await expect(later.store.isNew()).rejects.toMatchObject({ reason: 'vault_unreadable' });
    await expect(later.store.unlock(correct)).rejects.toMatchObject({ reason: 'vault_unreadable' });
    rmSync(path.join(folder, 'a'));
    const used = passphraseVault(folder, { hadRoot: async () => true });
    await expect(used.store.unlock(correct)).rejects.toMatchObject({ reason: 'vault_unreadable' });
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    ['more memory than a machine has', { cost: { N: 2 ** 30, r: 8, p: 1 } }],
    ['almost no work', { cost: { N: 2, r: 8, p: 1 } }],
    ['a short salt', { salt: 'AAAA' }],
    ['something unknown', { more: true }],
  ])('a root file that asks for %s is unreadable before any work is done', async (_, change) => {
    const folder = newPlace();
    await unlocked(folder);
    const file = path.join(folder, 'root');
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...change }));
    await expect(passphraseVault(folder).store.unlock(correct)).rejects.toMatchObject({
      reason: 'vault_unreadable',
      item: 'root',
    });
  });

  test('a root file of another home does not open', async () => {
    const folder = newPlace();
    await unlocked(folder);
    await expect(passphraseVault(folder, { homeId: 'other' }).store.unlock(correct)).rejects.toMatchObject(
      locked,
    );
  });
});

describe('the files', () => {
  test('contain neither a value nor the passphrase, and have mode 0600 in a folder 0700', async () => {
    const folder = newPlace();
    const vault = await unlocked(folder);
    await vault.set('a', 'a very secret token');
    for (const name of readdirSync(folder)) {
      const text = readFileSync(path.join(folder, name), 'latin1');
      expect(text).not.toMatch(/secret|horse/);
      expect(statSync(path.join(folder, name)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  /** What each is after `b` was set to "second". */
  const harm: readonly [string, (folder: string, file: string) => void][] = [
    ['is cut', (_, file) => writeFileSync(file, readFileSync(file).subarray(0, -1))],
    ['is huge', (_, file) => writeFileSync(file, Buffer.alloc(2 * 1024 * 1024, 'A'))],
    ['is the one of another item', (folder, file) => copyFileSync(path.join(folder, 'a'), file)],
    ['may be read by others', (_, file) => chmodSync(file, 0o644)],
    ['is a pipe', (_, file) => (rmSync(file), execFileSync('mkfifo', ['-m', '600', file]))],
    ['is a link', (folder, file) => (rmSync(file), symlinkSync(path.join(folder, 'a'), file))],
  ];
  test.each(harm)('a file that %s makes its item unreadable, and no other', async (_, damage) => {
    const [folder, keychain] = [newPlace(), memoryKeychain()];
    const vault = sealedVault(folder, keychain);
    await vault.set('a', 'first');
    await vault.set('b', 'second');
    damage(folder, path.join(folder, 'b'));
    for (const each of [vault, sealedVault(folder, keychain)]) {
      await expect(each.get('b')).rejects.toMatchObject({ reason: 'vault_unreadable', item: 'b' });
      expect(await each.get('a')).toBe('first');
    }
  });

  test('items/NAME: an older one shows what it held, and one of another keychain nothing', async () => {
    const [folder, theirs, keychain] = [newPlace(), newPlace(), memoryKeychain()];
    const vault = sealedVault(folder, keychain);
    const file = path.join(folder, 'a');
    await vault.set('a', 'first');
    const older = readFileSync(file);
    await vault.set('a', 'second');
    writeFileSync(file, older);
    expect(await said(sealedVault(folder, keychain), 'a')).toBe('first');
    await sealedVault(theirs, memoryKeychain()).set('a', 'theirs');
    copyFileSync(path.join(theirs, 'a'), file);
    expect(await said(sealedVault(folder, keychain), 'a')).toBe('vault_unreadable');
  });

  test('no byte of a file can be changed unnoticed', async () => {
    const [folder, keychain] = [newPlace(), memoryKeychain()];
    const vault = sealedVault(folder, keychain);
    await vault.set('a', 'a value of some length');
    const file = path.join(folder, 'a');
    const text = readFileSync(file, 'utf8');
    for (let at = 0; at < text.length; at++) {
      const other = text[at] === 'A' ? 'B' : 'A';
      writeFileSync(file, text.slice(0, at) + other + text.slice(at + 1));
      expect(await said(vault, 'a'), `at ${at}`).toBe('vault_unreadable');
    }
    for (let length = 0; length < text.length; length++) {
      writeFileSync(file, text.slice(0, length));
      expect(await said(vault, 'a'), `cut at ${length}`).toBe('vault_unreadable');
    }
  });

  test('a draft that a kill left is no item', async () => {
    const [folder, keychain] = [newPlace(), memoryKeychain()];
    const vault = sealedVault(folder, keychain);
    await vault.set('a', 'kept');
    for (const name of ['a', 'b'])
      writeFileSync(path.join(folder, `${name}.0123456789ab.new`), 'torn', { mode: 0o600 });
    expect([await said(vault, 'a'), await said(vault, 'b')]).toEqual(['kept', 'absent']);
  });

  test('a full disk keeps every item, and accepts values again once there is space', () => {
    const script = path.join(import.meta.dirname, 'sealed-full-disk.ts');
    expect(JSON.parse(onFullDisk(100, script, newPlace()))).toEqual({
      refusals: ['vault_unavailable', 'vault_unavailable'],
      large: 'absent',
      small: 'kept',
      later: 'fits',
      reopened: 'kept fits',
    });
  });
});

test('answers like a Map, for random calls in random order and after each opening', async () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e.1');
  const value = fc.string({ minLength: 1, maxLength: 40 }).filter((text) => !text.includes('\0'));
  const operation = fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('set' as const), name, value }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('delete' as const), name }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('lock and unlock' as const) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 40 }), async (operations) => {
      const [folder, keychain] = [newPlace(), memoryKeychain()];
      const model = new Map<string, string>();
      let vault = sealedVault(folder, keychain);
      for (const next of operations) {
        if (next.do === 'set') {
          await vault.set(next.name, next.value);
          model.set(next.name, next.value);
        } else if (next.do === 'delete') {
          await vault.delete(next.name);
          model.delete(next.name);
        } else if (next.do === 'reopen') {
          await vault.close();
          vault = sealedVault(folder, keychain);
        } else {
          vault.lock();
          await vault.unlock();
        }
        for (const each of ['a', 'b', 'c', 'd', 'e.1'])
          expect(await said(vault, each)).toBe(model.get(each) ?? 'absent');
      }
    }),
    { numRuns: 20 },
  );
});
