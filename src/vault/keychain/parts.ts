/**
 * Long values on Windows, whose Credential Manager stores at most 2,560 bytes in an item.
 *
 * A short value is the item itself. A longer one is in the items `NAME/SET/0`, `NAME/SET/1`…, and the item itself, which
 * is written last, names set, count and hash. The sets 0 and 1 are used in turn.
 *
 * Invariants: after a kill at any write the item shows its old value or its new one, whole. A deletion tries all parts
 * that there can be, and the item last.
 */
import { createHash } from 'node:crypto';
import { quoted } from '../../base/errors.ts';
import type { Items } from '../base/item-store.ts';
import { VaultError } from '../base/trouble.ts';

/** Characters, all ASCII since a value is sealed: 2,400 bytes if the system counts two for each. */
const partLength = 1200;

/** Room for a value of 8,900 bytes. Longer ones belong into a folder, since each part costs a call. */
const maxParts = 10;

const sets = [0, 1] as const;

const headPattern = /^keyturn-parts ([01]) (\d{1,2}) ([\w-]{43})$/;

interface Head {
  readonly set: number;
  readonly count: number;
  readonly hash: string;
}

export function inParts(items: Items): Items {
  const removeParts = async (name: string, set: number): Promise<void> => {
    for (let n = 0; n < maxParts; n++) await items.delete(partName(name, set, n));
  };
  const valueOf = async (name: string, text: string | undefined): Promise<string | undefined> => {
    const head = headIn(text);
    if (!head) return text;
    const parts: string[] = [];
    for (let n = 0; n < head.count; n++) parts.push((await items.get(partName(name, head.set, n))) ?? '');
    const value = parts.join('');
    if (hashOf(value) !== head.hash) throw damaged(name);
    return value;
  };
  return {
    get: async (name) => valueOf(name, await items.get(name)),

    async set(name, value) {
      const parts = partsOf(value);
      if (parts.length > maxParts)
        throw new VaultError(
          'full',
          `the value of ${quoted(name)} is too long for the Credential Manager of Windows`,
          {
            item: name,
            hint: 'Keep the secrets of a new home in files instead: keyturn settings set vault sealed-file',
          },
        );
      const before = headIn(await items.get(name));
      const set = before?.set === 0 ? 1 : 0;
      if (parts.length > 1)
        for (const [n, part] of parts.entries()) await items.set(partName(name, set, n), part);
      const head = `keyturn-parts ${set} ${parts.length} ${hashOf(value)}`;
      const shown = await valueOf(name, await items.set(name, parts.length > 1 ? head : value));
      // The new value is there, so the write succeeded even if the old parts stay until the item is deleted.
      if (before && shown === value) await removeParts(name, before.set).catch(() => undefined);
      return shown;
    },

    // Only `newest` is replaced, which is short.
    replace: (name, before, value) => items.replace(name, before, value),

    async delete(name) {
      for (const set of sets) await removeParts(name, set);
      return items.delete(name);
    },
  };
}

function partsOf(value: string): string[] {
  const count = Math.ceil(value.length / partLength);
  return Array.from({ length: count }, (_, n) => value.slice(n * partLength, (n + 1) * partLength));
}

function headIn(text: string | undefined): Head | undefined {
  const [, set, count, hash = ''] = headPattern.exec(text ?? '') ?? [];
  return set === undefined ? undefined : { set: Number(set), count: Number(count), hash };
}

function partName(name: string, set: number, n: number): string {
  return `${name}/${set}/${n}`;
}

function hashOf(value: string): string {
  return createHash('sha256').update(value).digest('base64url');
}

function damaged(name: string): VaultError {
  return new VaultError('damaged', `the keychain's item ${quoted(name)} lacks a part`, {
    item: name,
    hint: 'Restore the keychain, or sign in again. Nothing was changed.',
  });
}
