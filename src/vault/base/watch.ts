/**
 * The state of the vault, and when it may be asked again. Both are derived here from what the last calls threw and
 * how long they took.
 *
 * Invariants: nothing here asks the vault. What a person has to answer is asked for once; after that
 * automatic calls are refused during a growing pause, and only a person's own act (`lift`) ends it early.
 */
import { doubled } from '../../base/backoff.ts';
import type { VaultTrouble } from './trouble.ts';
import { VaultError } from './trouble.ts';

/** `unused`: not asked yet. `slow`: answers, and takes long. `new`: no passphrase was ever chosen. */
export type VaultStateName = 'unused' | 'open' | 'slow' | 'new' | VaultTrouble;

export interface VaultState {
  readonly state: VaultStateName;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** What is wrong, and what a person can do, as sentences. */
  readonly what?: string;
  readonly hint?: string;
}

/** The answer to every call instead of the vault's. */
export interface Bar {
  readonly state: VaultStateName;
  readonly error: VaultError;
}

/** Milliseconds for one keychain call. The slowest one measured takes 1.5 s, among 10,000 items. */
const slowCall = 3000;

/** Milliseconds: 5 s lets a person type, and doubling to 5 min keeps the prompts few while the person is away. */
const firstPause = 5000;
const maxPause = 300_000;

/** Troubles that only a person ends, by answering what the keychain asks. */
const asksPerson: readonly VaultTrouble[] = ['keychainLocked', 'waiting'];

export class VaultWatch {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  #bar: Bar | undefined;
  #trouble: VaultError | undefined;
  /** By item; '' for the whole vault. */
  readonly #damaged = new Map<string, VaultError>();
  #slowest: number | undefined;
  #isUsed = false;
  #shown: VaultState;
  #pausedUntil = 0;
  #pauses = 0;

  constructor(now: () => number) {
    this.now = now;
    this.#shown = { state: 'unused', since: now() };
  }

  get state(): VaultState {
    return this.#shown;
  }

  /** True while the vault's last call passed, or none that matters failed since. */
  get isOpen(): boolean {
    return this.#isUsed && !this.#trouble && !this.#bar;
  }

  /** While it is set, every call gets its error. */
  set bar(bar: Bar | undefined) {
    this.#bar = bar;
    this.#show();
  }

  get bar(): Bar | undefined {
    return this.#bar;
  }

  /** A call of the vault passed. `item`: what it was about; a read doesn't prove that the store keeps. */
  passed(did: 'read' | 'write', item: string): void {
    this.#isUsed = true;
    this.#pauses = 0;
    this.#pausedUntil = 0;
    if (this.#trouble?.trouble !== 'full' || did === 'write') this.#trouble = undefined;
    this.#damaged.delete('');
    this.#damaged.delete(item);
    this.#show();
  }

  /** Something threw. What isn't the vault's trouble changes nothing. */
  failed(error: unknown): void {
    // What the bar says isn't news, and who may not pass it learns nothing of the vault.
    if (!(error instanceof VaultError) || error.trouble === 'locked' || error === this.#bar?.error) return;
    if (error.trouble === 'damaged') this.#damaged.set(error.item ?? '', error);
    else this.#trouble = error;
    this.#show();
  }

  /** The keychain answered one call, after so many milliseconds. */
  answered(milliseconds: number): void {
    this.#slowest = milliseconds > slowCall ? milliseconds : undefined;
    this.#show();
  }

  /** The keychain refused one call, or never answered it. */
  refused(error: VaultError): void {
    if (!asksPerson.includes(error.trouble)) return;
    this.#trouble = error;
    this.#pauses += 1;
    this.#pausedUntil = this.now() + doubled(this.#pauses, firstPause, maxPause);
    this.#show();
  }

  /** Throws, with seconds in `retryAfter`, while the keychain must not be asked again. */
  mayAsk(): void {
    const left = this.#pausedUntil - this.now();
    // More than a whole pause: the machine's clock was put back.
    if (!this.#trouble || left <= 0 || left > maxPause) return;
    const { trouble, message } = this.#trouble;
    throw new VaultError(trouble, message, {
      rule: 'vault: a question that only a person can answer is not repeated again and again',
      hint: 'keyturn unlock asks your keychain at once',
      retryAfter: Math.ceil(left / 1000),
    });
  }

  /** A person acts: the next call asks at once. If that fails, the pause goes on growing. */
  lift(): void {
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
    // A file that can't be read as a whole says more than that it is locked.
    const whole = this.#damaged.get('');
    if (whole && this.#bar?.state === 'locked') return { state: 'damaged', error: whole };
    if (this.#bar) return this.#bar;
    if (this.#trouble) return { state: this.#trouble.trouble, error: this.#trouble };
    const [damage] = this.#damaged.values();
    if (damage) return { state: 'damaged', error: damage };
    if (this.#slowest !== undefined) return { state: 'slow', error: slowness(this.#slowest) };
    return { state: this.#isUsed ? 'open' : 'unused' };
  }
}

function slowness(milliseconds: number): { message: string; hint: string } {
  return {
    message: `the keychain took ${Math.round(milliseconds / 1000)} s for its last answer`,
    hint: 'a keyring with thousands of items is slow; KEYTURN_VAULT=sealed-file at a new home is not',
  };
}
