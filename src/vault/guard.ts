/**
 * The guard in front of every kind of vault. It refuses each call while the vault is locked, reports the result of
 * each call to the watch, and tells a listener when the vault begins to answer and when it stops.
 *
 * Invariants: while the guard is shut, only `destroy` and `close` reach the vault. `shut` resolves only when the calls
 * that it had admitted before have ended. The guard keeps no secret, and makes no call to the vault by itself.
 */
import { reasonOf } from '../base/errors.ts';
import { personIsAsked, VaultError } from './base/trouble.ts';
import type { Vault, VaultKind } from './base/vault.ts';
import type { VaultWatch } from './base/watch.ts';

/** For work that needs a secret, but should wait until another call has shown that the vault answers. */
export interface VaultListener {
  /** The vault answered a call: the first one, or the first one after trouble. */
  answered(): void;
  /** The vault is locked or unavailable. */
  failed(): void;
}

/** One listener that calls each of these in order. */
export function inOrder(...listeners: readonly VaultListener[]): VaultListener {
  return {
    answered: () => listeners.forEach((listener) => listener.answered()),
    failed: () => listeners.forEach((listener) => listener.failed()),
  };
}

export class VaultGuard implements Vault {
  readonly kind: VaultKind;
  readonly #vault: Vault;
  readonly #watch: VaultWatch;
  readonly #listener: VaultListener;
  readonly #underWay = new Set<Promise<unknown>>();
  #isAnswering = false;

  constructor(vault: Vault, watch: VaultWatch, listener: VaultListener = inOrder()) {
    this.kind = vault.kind;
    this.#vault = vault;
    this.#watch = watch;
    this.#listener = listener;
  }

  find(id: string): Promise<string | undefined> {
    return this.#pass('read', id, () => this.#vault.find(id));
  }

  read(id: string): Promise<string> {
    return this.#pass('read', id, () => this.#vault.read(id));
  }

  write(id: string, secret: string): Promise<void> {
    return this.#pass('write', id, () => this.#vault.write(id, secret));
  }

  remove(id: string): Promise<void> {
    return this.#pass('write', id, () => this.#vault.remove(id));
  }

  probe(): Promise<void> {
    return this.#pass('write', 'probe', () => this.#vault.probe());
  }

  /** Works while the guard is shut, too: it returns no secret. */
  destroy(ids: readonly string[]): Promise<void> {
    return this.#vault.destroy(ids);
  }

  close(): Promise<void> {
    return this.#vault.close();
  }

  /** Refuses every call from now on. `isNew`: nobody has chosen a passphrase yet. */
  async shut({ isNew = false } = {}): Promise<void> {
    this.#watch.block = { state: isNew ? 'new' : 'locked', error: isNew ? neverOpened() : lockedVault() };
    await Promise.allSettled(this.#underWay);
  }

  /**
   * While a person is asked to unlock the vault: refuses every call, unless the vault is open. The returned function
   * restores the state of before.
   */
  hold(): () => void {
    const before = this.#watch.block;
    if (!this.#watch.isOpen)
      this.#watch.block = { state: before?.state ?? 'waiting', error: personIsAsked() };
    return () => {
      this.#watch.block = before;
    };
  }

  open(): void {
    this.#watch.block = undefined;
  }

  async #pass<T>(did: 'read' | 'write', item: string, call: () => Promise<T>): Promise<T> {
    try {
      if (this.#watch.block) throw this.#watch.block.error;
      const value = await this.#awaited(call());
      this.#watch.passed(did, item);
      this.#tell(true);
      return value;
    } catch (error) {
      this.#watch.failed(error);
      // For a damaged item the listener isn't called: the vault still serves the other items.
      if (['locked', 'vault_unavailable'].includes(reasonOf(error))) this.#tell(false);
      throw error;
    }
  }

  async #awaited<T>(answer: Promise<T>): Promise<T> {
    this.#underWay.add(answer);
    try {
      return await answer;
    } finally {
      this.#underWay.delete(answer);
    }
  }

  #tell(isAnswering: boolean): void {
    if (isAnswering === this.#isAnswering) return;
    this.#isAnswering = isAnswering;
    if (isAnswering) this.#listener.answered();
    else this.#listener.failed();
  }
}

/** The error of every call while the vault is locked. */
export function lockedVault(): VaultError {
  return new VaultError('locked', 'the vault is locked', {
    rule: 'vault: a locked vault gives nothing until you unlock it',
    hint: 'Unlock it with: keyturn unlock',
  });
}

function neverOpened(): VaultError {
  return new VaultError('locked', 'the vault has no passphrase yet', {
    hint: 'Choose one with: keyturn unlock',
  });
}
