/**
 * What keeps a vault's items: the keychain, a folder, or memory. `item-vault.ts` makes a vault of it.
 *
 * Invariant: a store guesses nothing. Its `undefined` may mean that the item is locked.
 */
import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { VaultError } from './trouble.ts';

/** Each call resolves to what the item shows at its end. Throws `vault_unreadable` for a damaged item. */
export interface Items {
  get(name: string): Promise<string | undefined>;
  /** Replaces the value in one step. */
  set(name: string, value: string): Promise<string | undefined>;
  /** Sets the item only if it shows `before`; undefined: nothing. No other call of this store comes in between. */
  replace(name: string, before: string | undefined, value: string): Promise<string | undefined>;
  delete(name: string): Promise<string | undefined>;
}

export interface ItemStore extends Items {
  /** The root key; if the store certainly has none, `fresh` becomes it. Undefined if the store isn't open. */
  createRoot(fresh: string): Promise<string | undefined>;
  /** Resolves if the store can keep items now. It may ask a user. */
  prove(): Promise<void>;
  /** Deletes the root key first, then the items `names` and all others that it finds. */
  destroy(names: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** The item with the root key, in base64url. It also proves that a store is open, because every used home has it. */
export const rootItem = 'root';

/** 32 bytes. Anything else would be another key, and every proof would fail without saying why. */
export function rootKeyFrom(text: string): KeyObject {
  if (/^[A-Za-z0-9_-]{43}$/.test(text)) return createSecretKey(text, 'base64url');
  throw new VaultError('damaged', `the vault's item "${rootItem}" has an unknown shape`, {
    item: rootItem,
    hint: 'A newer Keyturn may have written it. It was left as it is: restore the vault from a backup.',
  });
}

/** A key of 32 bytes for one purpose (RFC 5869). Two purposes never share a label. */
export function derivedKey(root: KeyObject, purpose: string, salt = ''): KeyObject {
  const bytes = Buffer.from(hkdfSync('sha256', root, salt, `keyturn/1 ${purpose}`, 32));
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}
