/**
 * The interface of every vault, and the checks of ids and secrets that all vaults share.
 *
 * Invariant: "absent" and "unreadable" are different answers. A vault that can't tell them apart throws. It never
 * answers "absent" on a guess. No secret enters an error.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';

export type VaultKind = 'keychain' | 'sealed-file' | 'memory';

/**
 * A store of secrets. Every method throws KeyturnError: `invalid_request` for an id or secret that no vault accepts,
 * `vault_unavailable` (the store doesn't answer, or the vault is closed), `locked`, or `vault_unreadable` (an item
 * exists and can't be read, or is incomplete).
 */
export interface Vault {
  readonly kind: VaultKind;
  /** The secret under `id`; undefined only if the vault certainly has no such item. */
  find(id: string): Promise<string | undefined>;
  /** The secret of an item that must exist, because our own records name it: its absence is `vault_unreadable`. */
  read(id: string): Promise<string>;
  /**
   * Resolves only when the value is durable and was read back. After a rejection the item holds the
   * old value or the new one, whole, never a mixture.
   */
  write(id: string, secret: string): Promise<void>;
  /** Resolves only when nothing is left under `id`. An `id` without an item is no error. */
  remove(id: string): Promise<void>;
  /**
   * Throws unless the vault can store a secret now. The broker calls it before it sends a refresh token, which the
   * server may replace.
   */
  probe(): Promise<void>;
  /**
   * For the end of a home: removes the items `ids` and the vault's own items, and closes the vault. `ids` must name
   * every item that was written, since Keyturn can't list a keychain. A locked sealed file is removed without its
   * key. Throws if something can't be removed. Later calls are `vault_unavailable` in either case; a new vault for
   * the same home can try again.
   */
  destroy(ids: readonly string[]): Promise<void>;
  /** Ends the vault's process and closes its file. Later calls are `vault_unavailable`. */
  close(): Promise<void>;
}

/** A vault with a lock of its own. While it is locked, every call for an item throws `locked`. */
export interface Lockable {
  condition(): Promise<VaultCondition>;
  /**
   * Opens the vault and reads everything again; creates it if it doesn't exist. Pass `passphrase` only to a vault
   * that has one. Throws `locked` for a wrong passphrase (the caller makes the person wait longer after each),
   * `invalid_request` for a missing one, `vault_unreadable`, `vault_unavailable`. A vault that was open stays open
   * then.
   */
  unlock(passphrase?: string): Promise<void>;
  /** Forgets every key, once the running calls have ended. */
  lock(): Promise<void>;
  /** Encrypts everything under a new key and passphrase. Throws as `unlock`, and `locked` while the vault is locked. */
  changePassphrase(current: string, next: string): Promise<void>;
}

export interface VaultCondition {
  /** `new`: nobody has chosen a passphrase. The next `unlock` sets it, so ask the person for it twice. */
  readonly state: 'new' | 'locked' | 'open' | 'closed';
  /** The unreadable part, as text for the owner; only while the vault is open. */
  readonly damage?: string;
}

/** Only lower case, because some stores ignore case. The length leaves room for the suffixes that vaults append. */
const idPattern = /^[a-z0-9][a-z0-9.-]{0,127}$/;

/** Bytes of UTF-8. Token responses have a lower limit, so a longer value is a mistake. */
export const maxSecretLength = 1024 * 1024;

/** Throws `invalid_request` unless `id` may name a vault item. */
export function checkId(id: string): void {
  if (idPattern.test(id)) return;
  throw new KeyturnError('invalid_request', `${quoted(id)} can't name a vault item`, {
    rule: 'vault: an id is 1 to 128 of a-z, 0-9, "." and "-", and starts with a letter or digit',
  });
}

/** Throws `invalid_request` unless every vault can store `secret` unchanged. The message never contains it. */
export function checkSecret(secret: string): void {
  const whole = secret !== '' && !secret.includes('\0') && secret.isWellFormed();
  if (whole && Buffer.byteLength(secret) <= maxSecretLength) return;
  throw new KeyturnError('invalid_request', "this value can't be kept in a vault", {
    rule: 'vault: a secret is non-empty, well-formed Unicode without NUL, at most 1 MiB of UTF-8',
  });
}

/** The error of every call to a closed vault. */
export function closedVault(): KeyturnError {
  return new KeyturnError('vault_unavailable', 'the vault is closed: the broker is stopping', {
    hint: 'Start the broker again.',
  });
}
