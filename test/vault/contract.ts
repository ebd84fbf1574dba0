/** The rules of every vault. Each backend's test calls this with a way to open one, and tests its own beside it. */
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { MissingItem } from '../../src/vault/base/trouble.ts';
import { type Vault, getIfAny, maxValueLength } from '../../src/vault/base/vault.ts';
import { anyText } from '../support/any-text.ts';

const id = 'grant.1';

/** Bytes whose sealed form fills one part of Windows's keychain: 1,200 characters, of 28 bytes more. */
const partBytes = 871;

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
      ['Unicode, line breaks and quotation marks', 'Schlüssel 🔑 "\\"\r\n\u2028\ufeff end'],
      ['one byte less than a part', 'a'.repeat(partBytes - 1)],
      ['a part exactly', 'b'.repeat(partBytes)],
      ['one byte more than a part', 'c'.repeat(partBytes + 1)],
      [
        'a character across the border of two parts',
        `${'d'.repeat(partBytes - 2)}🔑${'e'.repeat(partBytes)}`,
      ],
      ['100 kB', '0123456789'.repeat(10_000)],
    ])('gives back %s unchanged', async (_, secret) => {
      await vault.set(id, secret);
      expect(await getIfAny(vault, id)).toBe(secret);
      expect(await vault.get(id)).toBe(secret);
      await vault.delete(id);
    });

    test('gives back any well-formed text unchanged', async () => {
      const text = anyText({ minLength: 1, maxLength: 1500 });
      const secrets = text.filter((secret) => !secret.includes('\0'));
      await fc.assert(
        fc.asyncProperty(secrets, async (secret) => {
          await vault.set(id, secret);
          expect(await vault.get(id)).toBe(secret);
        }),
        { numRuns: 15 },
      );
      await vault.delete(id);
    });

    test('keeps the last of several values, whether longer or shorter', async () => {
      for (const secret of ['first', 'x'.repeat(3 * partBytes), 'third']) await vault.set(id, secret);
      expect(await vault.get(id)).toBe('third');
      await vault.delete(id);
    });

    test('keeps the later of two writes at the same time', async () => {
      await Promise.all([vault.set(id, 'earlier'.repeat(400)), vault.set(id, 'later')]);
      expect(await vault.get(id)).toBe('later');
      await vault.delete(id);
    });

    test('answers a read during a write with the old value or the new one', async () => {
      await vault.set(id, 'old');
      const [, seen] = await Promise.all([vault.set(id, 'new'), vault.get(id)]);
      expect(['old', 'new']).toContain(seen);
      await vault.delete(id);
    });

    test('finds nothing under a name that was never set, and says that it is missing', async () => {
      await expect(vault.get('never')).rejects.toThrow(MissingItem);
    });

    test('removes an item for good, and allows a second removal', async () => {
      await vault.set(id, 'gone soon');
      await vault.delete(id);
      await vault.delete(id);
      expect(await getIfAny(vault, id)).toBeUndefined();
    });

    test.each(['', '-a', '.a', 'a.', '_probe', 'a/b', '..', 'a b', 'a\n', 'é', 'a.new', 'a'.repeat(129)])(
      'refuses the name %j in every call',
      async (bad) => {
        const refused = { reason: 'invalid_request' };
        await expect(vault.replace(bad, undefined, 'x')).rejects.toMatchObject(refused);
        await expect(vault.get(bad)).rejects.toMatchObject(refused);
        await expect(vault.set(bad, 'x')).rejects.toMatchObject(refused);
        await expect(vault.delete(bad)).rejects.toMatchObject(refused);
      },
    );

    test.each([
      ['is empty', ''],
      ['contains NUL', 'hidden\0tail'],
      ['contains half a character', 'hidden\ud800'],
      ['is longer than 1 MiB', 'hidden'.padEnd(maxValueLength + 1, 'x')],
    ])('refuses a value that %s, without repeating it', async (_, secret) => {
      const error: unknown = await vault.set(id, secret).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ reason: 'invalid_request' });
      expect(String(error)).not.toContain('hidden');
      expect(await getIfAny(vault, id)).toBeUndefined();
    });

    test('replaces only the value that the caller knows, and tells another one', async () => {
      expect(await vault.replace(id, 'first', 'second')).toBeUndefined();
      expect(await vault.replace(id, undefined, 'first')).toBe('first');
      expect(await vault.replace(id, undefined, 'second')).toBe('first');
      expect(await vault.replace(id, 'other', 'second')).toBe('first');
      expect(await vault.replace(id, 'first', 'second')).toBe('second');
      expect(await vault.get(id)).toBe('second');
      await vault.delete(id);
    });

    test('has one root key, which no item gives away', async () => {
      const root = await vault.root();
      expect(root.symmetricKeySize).toBe(32);
      expect((await vault.root()).equals(root)).toBe(true);
      await expect(vault.set('root', 'x')).rejects.toMatchObject({ reason: 'invalid_request' });
      await expect(vault.get('root')).rejects.toMatchObject({ reason: 'invalid_request' });
      await expect(vault.delete('root')).rejects.toMatchObject({ reason: 'invalid_request' });
    });

    test.each([
      ['a destroyed', (own: Vault) => own.destroy([id, 'other', 'never'])],
      ['a closed', (own: Vault) => own.close()],
    ])('%s vault refuses every call', async (_, end) => {
      const own = ownVault();
      await own.set(id, 'soon gone');
      await own.set('other', 'x'.repeat(3 * partBytes));
      await end(own);
      const refused = { reason: 'vault_unavailable' };
      await expect(getIfAny(own, id)).rejects.toMatchObject(refused);
      await expect(own.set('other', 'x')).rejects.toMatchObject(refused);
      await expect(own.delete(id)).rejects.toMatchObject(refused);
    });
  });
}
