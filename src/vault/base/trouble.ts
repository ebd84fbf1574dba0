/**
 * What can be wrong with a vault, as a closed set, and the error that carries it.
 *
 * Invariant: the code that refuses knows which trouble it is, and puts it into the error as a type. No code reads a
 * message to tell troubles apart. No secret enters an error.
 */
import { KeyturnError } from '../../base/errors.ts';
import type { ErrorDetails, Reason } from '../../base/errors.ts';

/**
 * `locked`: by us. `keychainLocked`: the keychain says that it is. `waiting`: it asked the person, and nobody
 * answers. `absent`: no D-Bus, no Secret Service, no module. `crashed`: the helper process died. `full`: the
 * store reads, and refuses to keep. `damaged`: an item, or the whole file, is missing or not readable.
 */
export type VaultTrouble =
  | 'locked'
  | 'keychainLocked'
  | 'waiting'
  | 'absent'
  | 'crashed'
  | 'full'
  | 'damaged';

const reasonOfTrouble: Readonly<Record<VaultTrouble, Reason>> = {
  locked: 'locked',
  keychainLocked: 'locked',
  waiting: 'locked',
  absent: 'vault_unavailable',
  crashed: 'vault_unavailable',
  full: 'vault_unavailable',
  damaged: 'vault_unreadable',
};

export interface VaultErrorDetails extends ErrorDetails {
  /** The vault item that it is about. */
  readonly item?: string;
}

export class VaultError extends KeyturnError {
  readonly trouble: VaultTrouble;
  readonly item?: string;

  constructor(trouble: VaultTrouble, message: string, { item, ...details }: VaultErrorDetails = {}) {
    super(reasonOfTrouble[trouble], message, details);
    this.trouble = trouble;
    if (item !== undefined) this.item = item;
  }
}

/** The answer to all other calls while one unlock waits for the person. */
export function personIsAsked(): VaultError {
  return new VaultError('waiting', 'the vault is being unlocked', {
    rule: 'vault: a person is asked once, however many programs wait',
    hint: 'answer the question of your keychain, and try again',
  });
}
