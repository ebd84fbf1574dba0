/**
 * The contract every vault keeps, and the checks at its edge.
 *
 * Invariant: "absent" and "unreadable" are different answers. A vault that can't tell them apart at
 * this moment throws; it never answers "absent" on a guess. No secret enters an error.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';

export type VaultKind = 'keychain' | 'sealed-file' | 'memory';

/**
 * Where secrets rest. Every method throws KeyturnError: `invalid_request` for an id or secret that no
 * vault takes, `vault_unavailable` (nobody answers, or the vault is closed), `locked`, or
 * `vault_unreadable` (something is there, but not readable or not whole).
 */
export interface Vault {
  readonly kind: VaultKind;
  /** The secret under `id`; undefined only when the vault answered and certainly has no such item. */
  find(id: string): Promise<string | undefined>;
  /** For an item that our own records say exists: its absence is `vault_unreadable`. */
  read(id: string): Promise<string>;
  /**
   * Resolves only when the value is durable and was read back. After a rejection the item holds the
   * old value or the new one, whole, never a mixture.
   */
  write(id: string, secret: string): Promise<void>;
  /** Resolves only when nothing is left under `id`; an id that holds nothing is fine. */
  remove(id: string): Promise<void>;
  /** Proves by a write, a read-back and a removal that a secret could be kept now. Asked before a refresh token is spent. */
  probe(): Promise<void>;
  /**
   * For the end of a home: removes these items and all that the vault keeps of its own, and closes it. `ids`
   * has to name all that was written, since a keychain can't be listed. A locked file goes without being
   * opened. Where something can't be removed it throws, later calls are `vault_unavailable` all the same,
   * and another vault opened in its place may try again.
   */
  destroy(ids: readonly string[]): Promise<void>;
  /** Ends what the vault started; later calls are `vault_unavailable`. */
  close(): Promise<void>;
}

/** A vault with a lock of its own. While it is locked every call is `locked`. */
export interface Lockable {
  condition(): Promise<VaultCondition>;
  /**
   * Opens it, reading everything anew; makes it where there is none yet. `passphrase` only where that is
   * the key. Throws `locked` for a wrong one (the pause that grows with each failure is the caller's),
   * `invalid_request` for none, `vault_unreadable`, `vault_unavailable`. What was open stays so then.
   */
  unlock(passphrase?: string): Promise<void>;
  /** Drops every key, after the calls under way. */
  lock(): Promise<void>;
  /** Puts everything under a new key and passphrase. Throws as `unlock`, and `locked` while it is. */
  changePassphrase(current: string, next: string): Promise<void>;
}

export interface VaultCondition {
  /** `new`: no passphrase was ever chosen; the next `unlock` chooses it, so ask for it twice. */
  readonly state: 'new' | 'locked' | 'open' | 'closed';
  /** What can't be read, as a sentence; only while it is open. */
  readonly damage?: string;
}

/** Lower case, because some stores fold case; a length that leaves room for the names we append to it. */
const idPattern = /^[a-z0-9][a-z0-9.-]{0,127}$/;

/** Bytes of UTF-8. A token response is bounded well below; more than this is a mistake, not a secret. */
export const maxSecretLength = 1024 * 1024;

/** Throws `invalid_request` unless `id` may name a vault item. */
export function checkId(id: string): void {
  if (idPattern.test(id)) return;
  throw new KeyturnError('invalid_request', `${quoted(id)} can't name a vault item`, {
    rule: 'vault: an id is 1 to 128 of a-z, 0-9, "." and "-", and starts with a letter or digit',
  });
}

/** Throws `invalid_request` unless every vault keeps `secret` unchanged. The message never repeats it. */
export function checkSecret(secret: string): void {
  const whole = secret !== '' && !secret.includes('\0') && secret.isWellFormed();
  if (whole && Buffer.byteLength(secret) <= maxSecretLength) return;
  throw new KeyturnError('invalid_request', "this value can't be kept in a vault", {
    rule: 'vault: a secret is non-empty, well-formed Unicode without NUL, at most 1 MiB of UTF-8',
  });
}

/** What a closed vault answers to everything. */
export function closedVault(): KeyturnError {
  return new KeyturnError('vault_unavailable', 'the vault is closed: the broker is stopping', {
    hint: 'start the broker again',
  });
}
