/**
 * Locks and unlocks the vault, and decides who is served while it is locked.
 *
 * Invariants: locking waits for rotations under way, so that none is cut off between the server's answer
 * and the vault; then no reference to a secret stays here but what the vault could not take yet. One
 * unlock at a time: a request that comes meanwhile joins it. Each locking, unlocking and try that failed is in the
 * audit log before the answer; a try that came too soon isn't.
 */
import { Backoff, doubled } from '../../base/backoff.ts';
import type { BrokerParts } from '../../broker/parts.ts';
import { SharedWork } from '../../base/shared-work.ts';
import { KeyturnError, reasonOf } from '../../base/errors.ts';
import { methodRow, type MethodName, type ParamsOf, type ResultOf } from '../../ipc/protocol/methods.ts';
import type { Caller } from '../../ipc/server/server.ts';
import { lockedVault, VaultError } from '../../vault/base/trouble.ts';
import { IdleLock } from './idle-lock.ts';
import { notOpenedFrom, type KeySource } from './key-source.ts';
import type { Secrets } from './secrets.ts';
import type { Settings } from '../settings/settings.ts';

/** Milliseconds for a user to find the keychain's question and type a password. */
const userTimeout = 120_000;

/** Milliseconds until the second look for a keychain that is missing, and at most: each look starts a process. */
const firstLook = 60_000;
const lastLook = 60 * 60_000;

export interface VaultLockParts {
  readonly secrets: Pick<Secrets, 'guard' | 'lockable' | 'watch' | 'bus'>;
  readonly broker: Pick<
    BrokerParts,
    'refresher' | 'cache' | 'apiKeys' | 'approvalRequests' | 'audit' | 'clock'
  >;
  readonly settings: Pick<Settings, 'lockAfter'>;
  /** The vault's state changed. */
  readonly changed: () => void;
  readonly log: (line: string) => void;
}

type Unlocking = ParamsOf<'vault.unlock'>;

export class VaultLock {
  readonly #parts: VaultLockParts;
  readonly #unlocking = new SharedWork<void>({ finishes: true });
  readonly #wrongPassphrases: Backoff;
  #idle: IdleLock | undefined;
  /** Seconds; what the idle lock runs with. */
  #lockAfter: number | undefined;
  #isLocked: boolean;
  #locking: Promise<void> | undefined;
  /** How often it was locked: an unlock that a lock overtook opens nothing. */
  #locks = 0;
  /** Where this start took the passphrase from, or tried to. */
  #source: KeySource | undefined;
  #isBySource = false;
  #hasSourceFailed = false;
  #opensAtStart = false;
  /** The refusal of a vault without a passphrase, whose place gave none. */
  #unchosen: VaultError | undefined;

  constructor(parts: VaultLockParts) {
    this.#parts = parts;
    const { clock } = parts.broker;
    this.#isLocked = parts.secrets.lockable.hasPassphrase;
    this.#wrongPassphrases = new Backoff(() => clock.now());
    this.#startIdle();
  }

  /** The document has said which settings count, which may differ from the file. */
  settingsChanged(): void {
    if (this.#parts.settings.lockAfter === this.#lockAfter) return;
    this.#idle?.stop();
    this.#startIdle();
  }

  #startIdle(): void {
    const { clock } = this.#parts.broker;
    const { lockAfter } = this.#parts.settings;
    this.#lockAfter = lockAfter;
    this.#idle =
      lockAfter === undefined
        ? undefined
        : new IdleLock({ clock, after: lockAfter * 1000, lock: () => this.#lockIdle() });
    void this.#idle?.run();
  }

  /**
   * Before a request runs. Throws `locked` while the vault is locked, for apps and for methods of apps; the owner's
   * other requests go on. Lets the keychain ask where a user waits, and puts off the idle lock unless the owner polls.
   */
  admit({ role }: Pick<Caller, 'role'>, method: MethodName): void {
    const { who, mayPrompt, isPolled } = methodRow(method);
    if (role === 'app' || who === 'app') this.refuseIfLocked();
    if (role === 'owner' && mayPrompt) this.#parts.secrets.watch.endPause();
    if (role === 'app' || !isPolled) this.#idle?.touch();
  }

  /** For what needs a new key: pairings, and the apps of proxies. */
  refuseIfLocked(): void {
    if (this.#isLocked) throw this.#parts.secrets.watch.block?.error ?? this.#locked();
  }

  /** For `status`. */
  state(): ResultOf<'status'>['vaultState'] {
    const { since, ...state } = this.#parts.secrets.watch.state;
    return { ...state, since: Math.floor(since / 1000) };
  }

  /** For `status`: the place that the start asked for the passphrase, and what came of it. */
  source(): ResultOf<'status'>['vaultSource'] {
    return this.#source && { ...this.#source, isUsed: this.#isBySource, hasFailed: this.#hasSourceFailed };
  }

  /** The start opened it by what this place gave. */
  openedFrom(source: KeySource): void {
    this.#source = source;
    this.#isBySource = true;
    this.#opensAtStart = true;
  }

  /** The start could not open it by this place: what is refused from now on says so. */
  notOpenedFrom(source: KeySource, why: unknown): void {
    const { watch } = this.#parts.secrets;
    this.#source = source;
    // Another trouble than a wrong or missing passphrase says itself what to do.
    const isOther = why instanceof VaultError && why.kind !== 'locked';
    if (!watch.block || isOther) return;
    this.#hasSourceFailed = true;
    const isNew = watch.block.state === 'new';
    const error = notOpenedFrom(source, why, isNew);
    if (isNew) this.#unchosen = error;
    watch.block = { state: watch.block.state, error };
    this.#parts.changed();
  }

  /**
   * While the Keyturn app runs, looks if there is a keychain, so that its window says at once if there is none. Looks
   * again, with growing pauses, until there is one; a request that needs it looks at once. Rejects when `stopping`
   * aborts.
   */
  async lookForKeychain(stopping: AbortSignal): Promise<void> {
    const { secrets, broker, changed } = this.#parts;
    for (let failure: unknown, looks = 1; ; looks += 1) {
      try {
        await secrets.lockable.look();
        secrets.watch.ended(failure);
        return changed();
      } catch (error) {
        failure = error;
        secrets.watch.failed(error);
        changed();
      }
      await broker.clock.sleep(doubled(looks, firstLook, lastLook), stopping);
    }
  }

  /** A request failed: an item that the vault gave and nobody could read is the vault's trouble too. */
  noted(error: unknown): void {
    if (error instanceof VaultError && error.kind === 'damaged') this.#parts.secrets.watch.failed(error);
  }

  /** Resolves when it is locked, at once if it was. `outcome`: for the audit log. */
  async lock(outcome: string): Promise<void> {
    if (this.#isLocked && !this.#locking) return;
    this.#locking ??= this.#lock(outcome).finally(() => (this.#locking = undefined));
    await this.#locking;
  }

  /**
   * Resolves when the vault is open. Throws `locked` for a new vault if the place of its passphrase gave none: that
   * place would never open a vault with a typed one. Throws `rate_limited` with the pause after wrong passphrases, what
   * the vault throws, and the reason of `caller` when that aborts; the unlocking goes on then.
   */
  async unlock(request: Unlocking, caller: AbortSignal): Promise<void> {
    await this.#unlocking.join('unlock', () => this.#unlock(request), caller);
  }

  /** Throws `rate_limited`, `locked` if it is or for a wrong passphrase, and what the vault throws. */
  async changePassphrase(current: string, next: string): Promise<void> {
    const { secrets, broker } = this.#parts;
    this.#refuseTooSoon();
    try {
      await secrets.lockable.changePassphrase(current, next);
    } catch (error) {
      if (!this.#isLocked) this.#countWrong(error);
      await broker.audit.record({ event: 'vault', outcome: `passphrase: ${reasonOf(error)}` });
      throw error;
    }
    await broker.audit.record({ event: 'vault', outcome: 'passphrase changed' });
  }

  /** The machine woke up: hours of sleep count as idle ones. */
  resumed(): void {
    void this.#idle?.look();
  }

  stop(): void {
    this.#idle?.stop();
  }

  async #lock(outcome: string): Promise<void> {
    const { secrets, broker, changed } = this.#parts;
    this.#isLocked = true;
    this.#isBySource = false;
    this.#locks += 1;
    const recorded = broker.audit.record({ event: 'vault', outcome });
    this.#callOffSignIns();
    await this.#settle();
    await secrets.guard.shut({ opensAtStart: this.#opensAtStart });
    broker.cache.clear();
    broker.apiKeys.clear();
    await secrets.lockable.lock();
    changed();
    await recorded;
  }

  /** No turn of the event loop passes between the last look and the guard: nothing starts in between. */
  async #settle(): Promise<void> {
    const { refresher } = this.#parts.broker;
    do await refresher.settled();
    while (refresher.turns.isAnyTaken);
  }

  /** What they would bring could not be kept, and until then they hold verifiers. */
  #callOffSignIns(): void {
    const { approvalRequests } = this.#parts.broker;
    for (const { id, question } of approvalRequests.list()) {
      if (question.kind === 'signIn' || question.kind === 'device') approvalRequests.answer(id, 'deny');
    }
  }

  async #lockIdle(): Promise<void> {
    try {
      await this.lock('locked: idle');
    } catch (error) {
      this.#parts.log(`the idle vault could not be locked: ${reasonOf(error)}`);
    }
  }

  async #unlock({ passphrase, session }: Unlocking): Promise<void> {
    await this.#locking?.catch(() => undefined);
    const { secrets, broker, changed } = this.#parts;
    this.#refuseTooSoon();
    await this.#refuseUnchosen();
    const locks = this.#locks;
    const putBack = secrets.guard.hold();
    changed();
    try {
      await this.#openDoor(passphrase, session);
      if (locks !== this.#locks) throw await this.#overtaken();
    } catch (error) {
      // A lock that came meanwhile has shut the guard by itself.
      if (locks === this.#locks) putBack();
      this.#countWrong(error);
      secrets.watch.failed(error);
      changed();
      await broker.audit.record({ event: 'vault', outcome: `unlock: ${reasonOf(error)}` });
      throw error;
    }
    secrets.guard.open();
    this.#isLocked = false;
    this.#hasSourceFailed = false;
    this.#wrongPassphrases.succeeded(passphraseKey);
    this.#idle?.touch();
    secrets.watch.passed('write', 'unlock');
    changed();
    await broker.audit.record({ event: 'vault', outcome: 'unlocked' });
  }

  /** Once more with the caller's session, where the broker itself has none that works. */
  async #openDoor(passphrase: string | undefined, session: Unlocking['session']): Promise<void> {
    const { lockable, watch, bus } = this.#parts.secrets;
    watch.endPause();
    try {
      await lockable.unlock(userTimeout, passphrase);
    } catch (error) {
      if (!session || !(error instanceof VaultError) || error.kind !== 'absent') throw error;
      bus.adopt(session);
      await lockable.unlock(userTimeout, passphrase).catch((second: unknown) => {
        bus.forget();
        throw second;
      });
    }
  }

  #locked(): VaultError {
    return lockedVault({ opensAtStart: this.#opensAtStart });
  }

  async #overtaken(): Promise<KeyturnError> {
    await this.#parts.secrets.lockable.lock();
    return this.#locked();
  }

  async #refuseUnchosen(): Promise<void> {
    if (!this.#unchosen) return;
    await this.#parts.broker.audit.record({ event: 'vault', outcome: `unlock: ${reasonOf(this.#unchosen)}` });
    throw this.#unchosen;
  }

  #refuseTooSoon(): void {
    const left = this.#wrongPassphrases.left(passphraseKey);
    if (left === 0) return;
    throw new KeyturnError('rate_limited', 'A wrong passphrase was given a moment ago.', {
      rule: 'vault: each wrong passphrase doubles the pause, from 1 s to 5 min',
      hint: 'Wait, then try again: keyturn unlock',
      retryAfter: Math.ceil(left / 1000),
    });
  }

  #countWrong(error: unknown): void {
    const isWrong = error instanceof VaultError && error.kind === 'locked';
    if (isWrong && this.#parts.secrets.lockable.hasPassphrase) this.#wrongPassphrases.failed(passphraseKey);
  }
}

/** One pause for all tries: there is one passphrase. */
const passphraseKey = 'passphrase';
