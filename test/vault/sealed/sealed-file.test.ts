/** The sealed file: the contract, its lock and passphrase, and what it refuses to open. */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
} from 'node:fs';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { memoryVault } from '../../../src/vault/memory.ts';
import { openVault } from '../../../src/vault/open.ts';
import { decodeHeader, encodeHeader } from '../../../src/vault/sealed/sealed-header.ts';
import { vaultContract } from '../contract.ts';
import { byPassphrase, changedCopy, lastingKeychain, newPlace, opened, said } from './sealed-home.ts';

describe('opened by a passphrase', () => {
  vaultContract('sealed-file', () => {
    const vault = opened(newPlace(), byPassphrase);
    // Every later call is queued behind it.
    void vault.unlock('correct horse');
    return vault;
  });
});

describe('opened by the keychain', () => {
  vaultContract('sealed-file', () => opened(newPlace(), { kind: 'keychain', vault: lastingKeychain() }));
});

describe('a destroyed sealed file', () => {
  /** With what crashes leave beside it, and a file that isn't ours. */
  function littered(file: string): void {
    for (const end of ['.new', '.torn-0123abcd', '.torn-elsewhere']) writeFileSync(`${file}${end}`, 'x');
  }

  test('destroying a sealed file removes the file and the remains of crashes beside it, even while it is locked', async () => {
    const file = newPlace();
    const vault = opened(file, byPassphrase);
    await vault.unlock('correct horse');
    await vault.write('a', 'gone');
    await vault.lock();
    littered(file);
    await vault.destroy(['a']);
    expect(readdirSync(path.dirname(file))).toEqual(['vault.sealed.torn-elsewhere']);
    expect(await said(vault, 'a')).toBe('vault_unavailable');
    // As after a crash at this point: a new vault on the same file has nothing left to remove.
    await opened(file, byPassphrase).destroy(['a']);
  });

  test('destroying a sealed file removes its key from the keychain', async () => {
    const [file, keychain] = [newPlace(), memoryVault()];
    const removed: string[] = [];
    const source = {
      ...lastingKeychain(),
      destroy: async (ids: readonly string[]) => void removed.push(...ids),
    };
    await opened(file, { kind: 'keychain', vault: keychain }).write('a', 'gone');
    await opened(file, { kind: 'keychain', vault: source }).destroy([]);
    expect(removed).toEqual(['sealed-file-key', 'sealed-file-head']);
    expect(readdirSync(path.dirname(file))).toEqual([]);
  });
});

describe('the lock of a sealed file', () => {
  test('a sealed file refuses every call as locked until the passphrase is given', async () => {
    const vault = opened(newPlace(), byPassphrase);
    const locked = { reason: 'locked', hint: 'Unlock it with: keyturn unlock' };
    await expect(vault.find('a')).rejects.toMatchObject(locked);
    await expect(vault.read('a')).rejects.toMatchObject(locked);
    await expect(vault.write('a', 'x')).rejects.toMatchObject(locked);
    await expect(vault.remove('a')).rejects.toMatchObject(locked);
    await expect(vault.probe()).rejects.toMatchObject(locked);
    await expect(vault.changePassphrase('correct horse', 'other')).rejects.toMatchObject(locked);
    expect(await vault.condition()).toEqual({ state: 'new' });
  });

  test('a sealed file locks once the running calls have ended, and opens again with all its items', async () => {
    const vault = opened(newPlace(), byPassphrase);
    await vault.unlock('correct horse');
    const [, , late] = await Promise.allSettled([vault.write('a', 'kept'), vault.lock(), vault.find('a')]);
    expect(late).toMatchObject({ status: 'rejected', reason: { reason: 'locked' } });
    expect(await vault.condition()).toEqual({ state: 'locked' });
    await vault.unlock('correct horse');
    expect(await vault.condition()).toEqual({ state: 'open' });
    expect(await vault.read('a')).toBe('kept');
  });

  test('refuses a wrong passphrase without repeating it, and does not change its state', async () => {
    const vault = opened(newPlace(), byPassphrase);
    await vault.unlock('correct horse');
    await vault.write('a', 'kept');
    const wrong: unknown = await vault.unlock('wrong battery').catch((error: unknown) => error);
    expect(wrong).toMatchObject({ reason: 'locked' });
    expect(`${String(wrong)} ${JSON.stringify(wrong)}`).not.toContain('battery');
    expect(await vault.read('a')).toBe('kept');
    await vault.lock();
    await expect(vault.unlock('wrong battery')).rejects.toMatchObject({ reason: 'locked' });
    expect(await said(vault, 'a')).toBe('locked');
  });

  test.each([0, 1025])('refuses a passphrase of %d letters', async (length) => {
    const file = newPlace();
    await expect(opened(file, byPassphrase).unlock('x'.repeat(length))).rejects.toMatchObject({
      reason: 'invalid_request',
    });
    expect(readdirSync(path.dirname(file))).toEqual([]);
  });

  test('accepts one passphrase in two Unicode forms', async () => {
    const vault = opened(newPlace(), byPassphrase);
    await vault.unlock('Schl\u00fcssel');
    await vault.unlock('Schlu\u0308ssel');
  });

  test('a new passphrase comes with a new key, and the old one no longer opens the file', async () => {
    const file = newPlace();
    const vault = opened(file, byPassphrase);
    await vault.unlock('old one');
    await vault.write('a', 'kept');
    const before = readFileSync(file);
    await expect(vault.changePassphrase('guess', 'new one')).rejects.toMatchObject({ reason: 'locked' });
    await vault.changePassphrase('old one', 'new one');
    await vault.write('b', 'added');
    const again = opened(file, byPassphrase);
    await expect(again.unlock('old one')).rejects.toMatchObject({ reason: 'locked' });
    await again.unlock('new one');
    expect([await again.read('a'), await again.read('b')]).toEqual(['kept', 'added']);
    // The old file's first line, with the key it holds, opens nothing of the new log.
    const first = (bytes: Buffer): number => bytes.indexOf('\n') + 1;
    const mixed = changedCopy(file, (now) =>
      Buffer.concat([before.subarray(0, first(before)), now.subarray(first(now))]),
    );
    const old = opened(mixed, byPassphrase);
    await old.unlock('old one');
    expect([await said(old, 'a'), await said(old, 'b')]).toEqual(['vault_unreadable', 'vault_unreadable']);
  });

  test('a sealed file with its key in the keychain opens at its first call, and after a lock only by an unlock', async () => {
    const [file, vault] = [newPlace(), lastingKeychain()];
    const first = opened(file, { kind: 'keychain', vault });
    await first.write('a', 'kept');
    await first.lock();
    expect(await said(first, 'a')).toBe('locked');
    await first.unlock();
    expect(await first.read('a')).toBe('kept');
    expect(await opened(file, { kind: 'keychain', vault }).read('a')).toBe('kept');
    await expect(first.changePassphrase('a', 'b')).rejects.toMatchObject({ reason: 'invalid_request' });
  });

  test('a sealed file is unreadable, not empty, if the keychain lost its key or holds another', async () => {
    const [file, vault] = [newPlace(), lastingKeychain()];
    await opened(file, { kind: 'keychain', vault }).write('a', 'kept');
    const key = await vault.read('sealed-file-key');
    await vault.remove('sealed-file-key');
    const later = opened(file, { kind: 'keychain', vault });
    expect(await said(later, 'a')).toBe('vault_unreadable');
    await vault.write('sealed-file-key', Buffer.alloc(32).toString('base64url'));
    expect(await said(later, 'a')).toBe('vault_unreadable');
    await vault.write('sealed-file-key', key);
    expect(await said(later, 'a')).toBe('kept');
  });

  test('a sealed file is unreadable if the settings name another source of its key', async () => {
    const file = newPlace();
    await opened(file, { kind: 'keychain', vault: lastingKeychain() }).write('a', 'kept');
    await expect(opened(file, byPassphrase).unlock('any')).rejects.toMatchObject({
      reason: 'vault_unreadable',
    });
  });
});

describe('the file on disk', () => {
  test('the file on the disk contains neither secret nor passphrase', async () => {
    const file = newPlace();
    const vault = opened(file, byPassphrase);
    await vault.unlock('correct horse');
    await vault.write('a', 'a very secret token');
    const text = readFileSync(file, 'latin1');
    expect(text).not.toContain('secret token');
    expect(text).not.toContain('horse');
  });

  test('a sealed file has mode 0600, and is refused with a hint if others may read it or its folder', async () => {
    const [file, vault] = [newPlace(), lastingKeychain()];
    await opened(file, { kind: 'keychain', vault }).write('a', 'kept');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const refusal = async (): Promise<unknown> =>
      opened(file, { kind: 'keychain', vault })
        .find('a')
        .catch((error: unknown) => error);
    chmodSync(file, 0o640);
    expect(await refusal()).toMatchObject({
      reason: 'vault_unreadable',
      hint: `If nobody else can have changed or read it: chmod 600 ${file}`,
    });
    expect(statSync(file).mode & 0o777).toBe(0o640);
    chmodSync(file, 0o600);
    chmodSync(path.dirname(file), 0o755);
    expect(await refusal()).toMatchObject({
      reason: 'vault_unreadable',
      hint: `If nobody else can have changed or read it: chmod 700 ${path.dirname(file)}`,
    });
    chmodSync(path.dirname(file), 0o700);
    expect(await refusal()).toBe('kept');
  });

  test('refuses a sealed file that is a symbolic link, a folder or another kind of file', async () => {
    const [file, vault] = [newPlace(), lastingKeychain()];
    await opened(file, { kind: 'keychain', vault }).write('a', 'kept');
    const link = path.join(path.dirname(file), 'link');
    symlinkSync(file, link);
    const empty = newPlace();
    writeFileSync(empty, '', { mode: 0o600 });
    const text = newPlace();
    writeFileSync(text, 'keyturn-sealed-file/2 {}\n', { mode: 0o600 });
    for (const other of [link, path.dirname(file), empty, text])
      expect(await said(opened(other, { kind: 'keychain', vault }), 'a')).toBe('vault_unreadable');
  });

  test.each([
    ['more memory than a machine has', { N: 2 ** 30, r: 8, p: 1 }],
    ['blocks of absurd size', { N: 2 ** 14, r: 2 ** 20, p: 1 }],
    ['hours of work', { N: 2 ** 14, r: 8, p: 2 ** 20 }],
    ['almost no work', { N: 2, r: 8, p: 1 }],
    ['work that is no power of two', { N: 2 ** 14 + 1, r: 8, p: 1 }],
    ['negative work', { N: 2 ** 14, r: -8, p: 1 }],
  ])('refuses a sealed file whose header asks for %s', async (_, cost) => {
    const file = newPlace();
    await opened(file, byPassphrase).unlock('correct horse');
    const absurd = changedCopy(file, (bytes) => {
      const { header, length } = decodeHeader(bytes, 'test');
      if (header.key.kind !== 'passphrase') throw new Error('made with a passphrase');
      const line = encodeHeader({ ...header, key: { ...header.key, cost } });
      return Buffer.concat([line, bytes.subarray(length)]);
    });
    await expect(opened(absurd, byPassphrase).unlock('correct horse')).rejects.toMatchObject({
      reason: 'vault_unreadable',
      message: expect.stringContaining('key'),
    });
  });

  test('refuses a sealed file whose salt has a wrong length', async () => {
    const file = newPlace();
    await opened(file, byPassphrase).unlock('correct horse');
    const absurd = changedCopy(file, (bytes) => {
      const { header, length } = decodeHeader(bytes, 'test');
      if (header.key.kind !== 'passphrase') throw new Error('made with a passphrase');
      const line = encodeHeader({ ...header, key: { ...header.key, salt: 'AAAA' } });
      return Buffer.concat([line, bytes.subarray(length)]);
    });
    await expect(opened(absurd, byPassphrase).unlock('correct horse')).rejects.toMatchObject({
      reason: 'vault_unreadable',
    });
  });

  test('nothing is written to a file that another program lengthened or replaced, until an unlock reads it again', async () => {
    const [file, keychain] = [newPlace(), lastingKeychain()];
    const vault = opened(file, { kind: 'keychain', vault: keychain });
    await vault.write('a', 'kept');
    appendFileSync(file, 'K');
    const changed = readFileSync(file);
    for (const call of [vault.find('a'), vault.write('a', 'x'), vault.remove('a'), vault.probe()])
      await expect(call).rejects.toMatchObject({ reason: 'vault_unreadable' });
    expect(readFileSync(file)).toEqual(changed);
    await vault.unlock();
    expect(await vault.read('a')).toBe('kept');

    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
    expect(await said(vault, 'a')).toBe('vault_unreadable');
    await vault.unlock();
    expect(await vault.read('a')).toBe('kept');
    rmSync(file);
    expect(await said(vault, 'a')).toBe('vault_unreadable');
    await expect(vault.write('a', 'x')).rejects.toMatchObject({ reason: 'vault_unreadable' });
  });

  test('a sealed file is rewritten when most of it is dead, and then holds only the live items', async () => {
    const [file, keychain] = [newPlace(), lastingKeychain()];
    const vault = opened(file, { kind: 'keychain', vault: keychain });
    await vault.write('a', 'kept');
    for (let n = 0; n < 30; n++) await vault.write('b', `${n} ${'x'.repeat(40_000)}`);
    await vault.remove('b');
    await vault.find('a');
    expect(statSync(file).size).toBeLessThan(500_000);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.dirname(file))).toEqual(['vault.sealed']);
    const again = opened(file, { kind: 'keychain', vault: keychain });
    expect([await said(again, 'a'), await said(again, 'b')]).toEqual(['kept', 'absent']);
  });

  test('a sealed file keeps its items when the disk is full, and accepts writes once there is space', () => {
    // For a write, the shell's limit on file sizes has the same effect as a full disk.
    const file = newPlace();
    const script = path.join(import.meta.dirname, 'sealed-full-disk.ts');
    const limited = 'trap "" XFSZ; ulimit -f 100; exec "$0" "$@"';
    const ran = spawnSync('bash', ['-c', limited, process.execPath, script, file], { encoding: 'utf8' });
    expect(ran.stderr).toBe('');
    expect(JSON.parse(ran.stdout)).toEqual({
      refusals: ['vault_unavailable', 'vault_unavailable'],
      large: 'absent',
      small: 'kept',
      later: 'fits',
      reopened: 'kept fits',
    });
  });
});

test('a sealed file answers like a Map, for random calls in random order and after each opening', async () => {
  const id = fc.constantFrom('a', 'b', 'c', 'd', 'e.1');
  const secret = fc.string({ minLength: 1, maxLength: 40 }).filter((text) => !text.includes('\0'));
  const operation = fc.oneof(
    { weight: 8, arbitrary: fc.record({ do: fc.constant('write' as const), id, secret }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), id }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('lock and unlock' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('churn' as const) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('probe' as const) }) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 40 }), async (operations) => {
      const [file, keychain] = [newPlace(), lastingKeychain()];
      const model = new Map<string, string>();
      let vault = opened(file, { kind: 'keychain', vault: keychain });
      for (const next of operations) {
        if (next.do === 'write') {
          await vault.write(next.id, next.secret);
          model.set(next.id, next.secret);
        } else if (next.do === 'remove') {
          await vault.remove(next.id);
          model.delete(next.id);
        } else if (next.do === 'reopen') {
          await vault.close();
          vault = opened(file, { kind: 'keychain', vault: keychain });
        } else if (next.do === 'churn') {
          // Enough dead bytes that the file is rewritten.
          for (const letter of 'xyz') await vault.write('churn', letter.repeat(200_000));
          model.set('churn', 'z'.repeat(200_000));
        } else if (next.do === 'probe') await vault.probe();
        else {
          await vault.lock();
          await vault.unlock();
        }
        for (const name of ['a', 'b', 'c', 'd', 'e.1', 'churn'])
          expect(await vault.find(name)).toBe(model.get(name));
      }
      await vault.close();
    }),
    { numRuns: 40 },
  );
});

test('openVault starts a sealed file with a passphrase locked, and refuses one without a file path', async () => {
  const file = newPlace();
  const door = openVault('sealed-file', { service: 'unused', sealedFile: { file, key: 'passphrase' } });
  expect(door.hasPassphrase).toBe(true);
  expect(await door.isNew()).toBe(true);
  expect(await said(door.vault, 'a')).toBe('locked');
  await door.vault.close();
  expect(() => openVault('sealed-file', { service: 'unused' })).toThrow('needs to know its file');
  expect(openVault('memory', { service: 'unused' }).hasPassphrase).toBe(false);
});
