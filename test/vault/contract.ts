/**
 * The rules that every vault obeys, whatever its backend. Each backend's test calls this with a way to open one.
 *
 * Invariant: nothing here knows the backend; what only one backend can do is tested beside it.
 */
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Vault } from '../../src/vault/base/vault.ts';
import { maxSecretLength } from '../../src/vault/base/vault.ts';
import { anyText } from '../support/any-text.ts';

const id = 'grant.1';

/** Bytes that fill one chunk of the keychain exactly: 1,200 characters of base64url. */
const chunkBytes = 900;

interface ContractOptions {
  /** One vault for all tests that leave it open, and empty: where opening one takes longer than its tests. */
  readonly isShared?: boolean;
}

export function vaultContract(name: string, open: () => Vault, options: ContractOptions = {}): void {
  describe(`the ${name} vault`, () => {
    const { isShared = false } = options;
    let shared: Vault | undefined;
    let vault: Vault;
    beforeEach(() => {
      vault = isShared ? (shared ??= open()) : open();
    });
    afterEach(() => (isShared ? undefined : vault.close()));
    afterAll(() => shared?.close());

    /** For a test that ends its vault. */
    function ownVault(): Vault {
      if (!isShared) return vault;
      const own = open();
      onTestFinished(() => own.close());
      return own;
    }

    test('has the kind that its name says', () => {
      expect(vault.kind).toBe(name);
    });

    test.each([
      ['one character', 'x'],
      ['Unicode, line breaks and quotation marks', 'Schlüssel 🔑 "\\"\r\n\u2028\ufeff end'],
      ['leading and trailing blanks', '  x \n'],
      ['one byte less than a chunk', 'a'.repeat(chunkBytes - 1)],
      ['a chunk exactly', 'b'.repeat(chunkBytes)],
      ['one byte more than a chunk', 'c'.repeat(chunkBytes + 1)],
      [
        'a character across the border of two chunks',
        `${'d'.repeat(chunkBytes - 2)}🔑${'e'.repeat(chunkBytes)}`,
      ],
      ['100 kB', '0123456789'.repeat(10_000)],
    ])('gives back %s unchanged', async (_, secret) => {
      await vault.write(id, secret);
      expect(await vault.find(id)).toBe(secret);
      expect(await vault.read(id)).toBe(secret);
      await vault.remove(id);
    });

    test('gives back any well-formed text unchanged', async () => {
      const text = anyText({ minLength: 1, maxLength: 1500 });
      const secrets = text.filter((secret) => !secret.includes('\0'));
      await fc.assert(
        fc.asyncProperty(secrets, async (secret) => {
          await vault.write(id, secret);
          expect(await vault.read(id)).toBe(secret);
        }),
        { numRuns: 15 },
      );
      await vault.remove(id);
    });

    test('keeps the last of several values, whether longer or shorter', async () => {
      for (const secret of ['first', 'x'.repeat(3 * chunkBytes), 'third']) await vault.write(id, secret);
      expect(await vault.read(id)).toBe('third');
      await vault.remove(id);
    });

    test('keeps the later of two writes at the same time', async () => {
      await Promise.all([vault.write(id, 'earlier'.repeat(400)), vault.write(id, 'later')]);
      expect(await vault.read(id)).toBe('later');
      await vault.remove(id);
    });

    test('answers a read during a write with the old value or the new one', async () => {
      await vault.write(id, 'old');
      const [, seen] = await Promise.all([vault.write(id, 'new'), vault.read(id)]);
      expect(['old', 'new']).toContain(seen);
      await vault.remove(id);
    });

    test('keeps two items apart, even if one id begins with the other', async () => {
      await vault.write('grant', 'outer');
      await vault.write('grant.a', 'inner');
      await vault.remove('grant');
      expect(await vault.find('grant')).toBeUndefined();
      expect(await vault.read('grant.a')).toBe('inner');
      await vault.remove('grant.a');
    });

    test('finds nothing under an id that was never written, and a read of that id fails as unreadable', async () => {
      expect(await vault.find('never')).toBeUndefined();
      await expect(vault.read('never')).rejects.toMatchObject({ reason: 'vault_unreadable' });
    });

    test('removes an item for good, and allows a second removal', async () => {
      await vault.write(id, 'gone soon');
      await vault.remove(id);
      await vault.remove(id);
      expect(await vault.find(id)).toBeUndefined();
    });

    test.each(['', 'A', '-a', '.a', '_witness', 'a/b', 'a b', 'a\n', 'é', 'a'.repeat(129)])(
      'refuses the id %j in every call',
      async (bad) => {
        const refused = { reason: 'invalid_request' };
        await expect(vault.find(bad)).rejects.toMatchObject(refused);
        await expect(vault.read(bad)).rejects.toMatchObject(refused);
        await expect(vault.write(bad, 'x')).rejects.toMatchObject(refused);
        await expect(vault.remove(bad)).rejects.toMatchObject(refused);
      },
    );

    test.each([
      ['is empty', ''],
      ['contains NUL', 'hidden\0tail'],
      ['contains half a character', 'hidden\ud800'],
      ['is longer than 1 MiB', 'hidden'.padEnd(maxSecretLength + 1, 'x')],
    ])('refuses a secret that %s, without repeating it', async (_, secret) => {
      const error: unknown = await vault.write(id, secret).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ reason: 'invalid_request' });
      expect(String(error)).not.toContain('hidden');
      expect(await vault.find(id)).toBeUndefined();
    });

    test('several probes of a working vault succeed at once, and leave no item', async () => {
      await Promise.all([vault.probe(), vault.probe(), vault.probe()]);
      expect(await vault.find('probe')).toBeUndefined();
    });

    test('a destroyed vault refuses every call', async () => {
      const own = ownVault();
      await own.write(id, 'soon gone');
      await own.write('master', 'x'.repeat(3 * chunkBytes));
      await own.destroy([id, 'master', 'never']);
      const refused = { reason: 'vault_unavailable' };
      await expect(own.find(id)).rejects.toMatchObject(refused);
      await expect(own.write('master', 'x')).rejects.toMatchObject(refused);
      await expect(own.remove(id)).rejects.toMatchObject(refused);
      await expect(own.probe()).rejects.toMatchObject(refused);
    });

    test('destroys nothing if one of the ids is invalid', async () => {
      await vault.write(id, 'kept');
      await expect(vault.destroy([id, '_witness'])).rejects.toMatchObject({ reason: 'invalid_request' });
      expect(await vault.read(id)).toBe('kept');
      await vault.remove(id);
    });

    test('a closed vault refuses every call', async () => {
      const own = ownVault();
      await own.close();
      const refused = { reason: 'vault_unavailable' };
      await expect(own.find(id)).rejects.toMatchObject(refused);
      await expect(own.write(id, 'x')).rejects.toMatchObject(refused);
      await expect(own.remove(id)).rejects.toMatchObject(refused);
      await expect(own.probe()).rejects.toMatchObject(refused);
    });
  });
}
