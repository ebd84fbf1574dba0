/**
 * What can be wrong with a vault, as a closed set, and the error that carries it.
 *
 * Invariant: the code that refuses knows its kind, and puts it into the error as a type. No code reads
 * such an error's message to tell kinds apart. No secret enters an error.
 */
import { KeyturnError, quoted, type ErrorDetails, type Reason } from '../../base/errors.ts';

/**
 * `locked`: Keyturn locked the vault, or the passphrase is wrong. `keychainLocked`: the keychain says that it is
 * locked. `waiting`: the keychain asked the user, who has not answered. `absent`: the keychain can't be used, e.g.
 * without D-Bus, Secret Service or keytar. `crashed`: the keychain's worker process failed. `full`: the store can be
 * read but not written. `damaged`: an item, or the root key, can't be read, or is missing.
 */
export type VaultErrorKind =
  | 'locked'
  | 'keychainLocked'
  | 'waiting'
  | 'absent'
  | 'crashed'
  | 'full'
  | 'damaged';

const reasonOfKind: Readonly<Record<VaultErrorKind, Reason>> = {
  locked: 'locked',
  keychainLocked: 'locked',
  waiting: 'locked',
  absent: 'vault_unavailable',
  crashed: 'vault_unavailable',
  full: 'vault_unavailable',
  damaged: 'vault_unreadable',
};

export interface VaultErrorDetails extends ErrorDetails {
  /** The vault item that it is about; absent for the whole vault. */
  readonly item?: string;
}

export class VaultError extends KeyturnError {
  readonly kind: VaultErrorKind;
  readonly item?: string;

  constructor(kind: VaultErrorKind, message: string, { item, ...details }: VaultErrorDetails = {}) {
    super(reasonOfKind[kind], message, details);
    this.kind = kind;
    if (item !== undefined) this.item = item;
  }
}

/** The vault is open, and certainly has no such item. This is no trouble of the vault. */
export class MissingItem extends VaultError {
  constructor(item: string) {
    super('damaged', `the vault has no item ${quoted(item)}`, {
      item,
      hint: 'If it was deleted, sign in again.',
    });
  }
}

/** The error of every call while the vault is locked. `opensAtStart`: the broker's start opened it by a setting. */
export function lockedVault({ opensAtStart = false } = {}): VaultError {
  return new VaultError('locked', 'the vault is locked', {
    rule: 'vault: a locked vault gives nothing until you unlock it',
    hint: opensAtStart
      ? 'It opens automatically (setting vaultKey) with: keyturn broker restart. Or type its passphrase: keyturn unlock'
      : 'Unlock it with: keyturn unlock',
  });
}

/** The error of every other call while one unlock waits for the user. */
export function userIsAsked(): VaultError {
  return new VaultError('waiting', 'the vault is being unlocked', {
    rule: 'vault: a user is asked once, however many apps wait',
    hint: 'Answer the question of your keychain, and try again.',
  });
}
