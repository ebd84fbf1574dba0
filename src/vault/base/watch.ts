/**
 * The state of the vault, and when the keychain may be asked again. Both follow from the errors and the durations of
 * the last calls.
 *
 * Invariants: this file never calls the vault. If the keychain needs an answer from a user, the broker asks it once.
 * After that, automatic calls are refused during a pause that grows each time, and only a user's action (`endPause`)
 * or an answer of the keychain ends the pause early.
 */
import { doubled } from '../../base/backoff.ts';
import { MissingItem, VaultError, type VaultErrorKind } from './trouble.ts';

/** `unused`: no call yet. `slow`: the last answer took long. `new`: nobody has chosen a passphrase. */
export type VaultStateName = 'unused' | 'open' | 'slow' | 'new' | VaultErrorKind;

export interface VaultState {
  readonly state: VaultStateName;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** The trouble, and what the user can do about it, as text. */
  readonly what?: string;
  readonly hint?: string;
}

/** While the vault is blocked: its state, and the error of every call. */
export interface Block {
  readonly state: VaultStateName;
  readonly error: VaultError;
}

/** Milliseconds. A longer keychain call counts as slow. The slowest one measured took 1.5 s, with 10,000 items. */
const slowCall = 3000;

/** Milliseconds. 5 s lets a user type. The pause doubles up to 5 min, so that few prompts open if nobody is there. */
const firstPause = 5000;
const maxPause = 300_000;

/** Troubles that end only when a user answers the keychain. */
const asksUser: readonly VaultErrorKind[] = ['keychainLocked', 'waiting'];

export class VaultWatch {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  #block: Block | undefined;
  #trouble: VaultError | undefined;
  /** The errors by item; '' stands for the whole vault. */
  readonly #damaged = new Map<string, VaultError>();
  #slowAnswer: number | undefined;
  #isUsed = false;
  #shown: VaultState;
  #pausedUntil = 0;
  #pauses = 0;
  /** Its last call failed, so that an item from elsewhere (beside-keychain.ts) says nothing about it. */
  #isKeychainSilent = false;

  constructor(now: () => number) {
    this.now = now;
    this.#shown = { state: 'unused', since: now() };
  }

  get state(): VaultState {
    return this.#shown;
  }

  /**
   * True after a successful call, until the vault is blocked or a call shows trouble. A damaged item changes nothing.
   */
  get isOpen(): boolean {
    return this.#isUsed && !this.#trouble && !this.#block;
  }

  /** While it is set, every call fails with its error. */
  set block(block: Block | undefined) {
    this.#block = block;
    this.#show();
  }

  get block(): Block | undefined {
    return this.#block;
  }

  /** A call for `item` succeeded. A read doesn't end `full`: only a write proves that the store has space. */
  passed(did: 'read' | 'write', item: string): void {
    this.#isUsed = true;
    if (!this.#isKeychainSilent) {
      this.#pauses = 0;
      this.#pausedUntil = 0;
      if (this.#trouble?.kind !== 'full' || did === 'write') this.#trouble = undefined;
    }
    this.#damaged.delete('');
    this.#damaged.delete(item);
    this.#show();
  }

  /** A call failed. Only a VaultError changes the state. */
  failed(error: unknown): void {
    // A call that the block refused never reached the vault, so its error says nothing new about the vault.
    if (!(error instanceof VaultError) || error === this.#block?.error) return;
    if (error.kind === 'locked' || error instanceof MissingItem) return;
    if (error.kind === 'damaged') this.#damaged.set(error.item ?? '', error);
    else this.#trouble = error;
    this.#show();
  }

  ended(error: unknown): void {
    if (this.#trouble === error) this.#trouble = undefined;
    this.#show();
  }

  /** The keychain answered one call after this many milliseconds. */
  answered(milliseconds: number): void {
    this.#slowAnswer = milliseconds > slowCall ? milliseconds : undefined;
    this.#isKeychainSilent = false;
    this.#show();
  }

  /** The keychain refused one call, or did not answer it in time. */
  refused(error: VaultError): void {
    if (!asksUser.includes(error.kind)) return;
    this.#trouble = error;
    this.#isKeychainSilent = true;
    this.#pauses += 1;
    this.#pausedUntil = this.now() + doubled(this.#pauses, firstPause, maxPause);
    this.#show();
  }

  /** Throws, with seconds in `retryAfter`, while the keychain must not be asked again. */
  mayAsk(): void {
    const left = this.#pausedUntil - this.now();
    // More than the longest pause: the machine's clock was set back.
    if (!this.#trouble || left <= 0 || left > maxPause) return;
    const { kind, message } = this.#trouble;
    throw new VaultError(kind, message, {
      rule: 'vault: a question that only a user can answer is not repeated again and again',
      hint: '`keyturn unlock` asks your keychain at once.',
      retryAfter: Math.ceil(left / 1000),
    });
  }

  /** For an action of a user: the next call asks the keychain at once. If that fails, the next pause is longer. */
  endPause(): void {
    this.#pausedUntil = 0;
  }

  #show(): void {
    const { state, error } = this.#derived();
    const since = state === this.#shown.state ? this.#shown.since : this.now();
    this.#shown = {
      state,
      since,
      ...(error ? { what: error.message } : {}),
      ...(error?.hint === undefined ? {} : { hint: error.hint }),
    };
  }

  #derived(): { state: VaultStateName; error?: Pick<VaultError, 'message' | 'hint'> } {
    // If the whole file is unreadable, the user needs to know that rather than that it is locked.
    const whole = this.#damaged.get('');
    if (whole && this.#block?.state === 'locked') return { state: 'damaged', error: whole };
    if (this.#block) return this.#block;
    if (this.#trouble) return { state: this.#trouble.kind, error: this.#trouble };
    const [damage] = this.#damaged.values();
    if (damage) return { state: 'damaged', error: damage };
    if (this.#slowAnswer !== undefined) return { state: 'slow', error: slowness(this.#slowAnswer) };
    return { state: this.#isUsed ? 'open' : 'unused' };
  }
}

function slowness(milliseconds: number): { message: string; hint: string } {
  return {
    message: `the keychain took ${Math.round(milliseconds / 1000)} s for its last answer`,
    hint: 'A keyring with thousands of items is slow; KEYTURN_VAULT=sealed-file at a new home is not.',
  };
}
