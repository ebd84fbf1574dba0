/**
 * The interface of every vault, and the checks of names and values that all vaults share.
 *
 * Invariant: "missing" and "can't be read" are different answers. A vault that can't tell them apart says `locked`. It
 * never answers "missing" on a guess. No secret enters an error.
 */
import type { KeyObject } from 'node:crypto';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { rootItem } from './item-store.ts';
import { MissingItem } from './trouble.ts';

export type VaultKind = 'keychain' | 'sealed-file' | 'memory';

/**
 * A store of secrets under names; there is no list of them. Every method throws KeyturnError: `invalid_request` for a
 * name or value that no vault accepts, `vault_unavailable` (the store doesn't answer, or the vault is closed),
 * `locked`, or `vault_unreadable` (an item can't be read, or is missing: `MissingItem`).
 */
export interface Vault {
  readonly kind: VaultKind;
  /** The value. Throws `MissingItem` only if the vault certainly has no such item. */
  get(name: string): Promise<string>;
  /**
   * Resolves only when the value is durable and was read back. After a rejection the item holds the
   * old value or the new one, whole, never a mixture.
   */
  set(name: string, value: string): Promise<void>;
  /**
   * Sets the value only if the vault has `before` (undefined: no item). Resolves to the value that it has now, which is
   * another one if `before` was not there. Throws as `set`.
   */
  replace(name: string, before: string | undefined, after: string): Promise<string | undefined>;
  /** Resolves only when nothing is left under `name`. A name without an item is no error. */
  delete(name: string): Promise<void>;
  /**
   * The home's root key: 32 random bytes, made at the first use of a new home's vault and never changed. All keys of
   * the home are derived from it (`derivedKey`).
   */
  root(): Promise<KeyObject>;
  /**
   * For the end of a home: deletes the root key, then the items `names` and all others that it finds, and closes the
   * vault. A locked folder is removed without its key. Throws if something can't be removed. Later calls are
   * `vault_unavailable` in either case; a new vault for the same home can try again.
   */
  destroy(names: readonly string[]): Promise<void>;
  /** Ends the vault's process. Later calls are `vault_unavailable`. */
  close(): Promise<void>;
}

/** The value, or undefined if the vault certainly has none. Throws as `get`. */
export async function getIfAny(vault: Pick<Vault, 'get'>, name: string): Promise<string | undefined> {
  try {
    return await vault.get(name);
  } catch (error) {
    if (error instanceof MissingItem) return undefined;
    throw error;
  }
}

/** Throws unless the vault can store a value now. */
export async function requireStorable(vault: Pick<Vault, 'set' | 'delete'>): Promise<void> {
  await vault.set('probe', 'Keyturn stores this to see whether it can, and deletes it');
  await vault.delete('probe');
}

/** The item with number and id of the newest document. It has its own key, and is open while the vault is locked. */
export const newestItem = 'newest';

/** A name is also the name of a file, and `.new` marks a file's draft. */
const namePattern = /^[A-Za-z0-9](?!.*\.new$)[\w.-]{0,127}(?<!\.)$/;

/** Bytes of UTF-8. Token responses have a lower limit, so a longer value is a mistake. */
export const maxValueLength = 1024 * 1024;

/** Throws `invalid_request` unless `name` may name an item. */
export function checkName(name: string): void {
  if (namePattern.test(name) && name !== rootItem) return;
  throw new KeyturnError('invalid_request', `${quoted(name)} can't name a vault item`, {
    rule: 'vault: a name is 1 to 128 letters, digits, ".", "-" and "_", and begins with a letter or digit; "root" is the vault\'s own',
  });
}

/** Throws `invalid_request` unless every vault can store `value` unchanged. The message never contains it. */
export function checkValue(value: string): void {
  const whole = value !== '' && !value.includes('\0') && value.isWellFormed();
  if (whole && Buffer.byteLength(value) <= maxValueLength) return;
  throw new KeyturnError('invalid_request', "this value can't be kept in a vault", {
    rule: 'vault: a value is non-empty, well-formed Unicode without NUL, at most 1 MiB of UTF-8',
  });
}

/** The error of every call to a closed vault. */
export function closedVault(): KeyturnError {
  return new KeyturnError('vault_unavailable', 'the vault is closed: the broker is stopping', {
    hint: 'Start the broker again.',
  });
}
