/**
 * The guard in front of every kind of vault. It refuses each call while the vault is locked, lets the watch see how
 * the calls end, and tells a listener when the vault begins to answer and when it stops.
 *
 * Invariants: while it is shut nothing reaches the vault but its end, and `shut` resolves only when what had passed
 * before has ended. It reads no answer and keeps none, and asks the vault nothing by itself.
 */
import { reasonOf } from '../base/errors.ts';
import { personIsAsked, VaultError } from './base/trouble.ts';
import type { Vault, VaultKind } from './base/vault.ts';
import type { VaultWatch } from './base/watch.ts';

/** For work that needs a secret and must not be the first to ask for one. */
export interface VaultListener {
  /** It answered, for the first time or for the first time after trouble. */
  answered(): void;
  /** It is locked, or nobody answers. */
  failed(): void;
}

/** Calls each of them, in this order. */
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

  /** Shut or not: what is destroyed gives nothing away. */
  destroy(ids: readonly string[]): Promise<void> {
    return this.#vault.destroy(ids);
  }

  close(): Promise<void> {
    return this.#vault.close();
  }

  /** Nothing passes from now on. `isNew`: nobody has chosen a passphrase yet. */
  async shut({ isNew = false } = {}): Promise<void> {
    this.#watch.bar = { state: isNew ? 'new' : 'locked', error: isNew ? neverOpened() : lockedVault() };
    await Promise.allSettled(this.#underWay);
  }

  /** Nothing passes while a person is asked. The function it returns puts things back as they were. */
  hold(): () => void {
    const before = this.#watch.bar;
    if (!this.#watch.isOpen) this.#watch.bar = { state: before?.state ?? 'waiting', error: personIsAsked() };
    return () => {
      this.#watch.bar = before;
    };
  }

  open(): void {
    this.#watch.bar = undefined;
  }

  async #pass<T>(did: 'read' | 'write', item: string, call: () => Promise<T>): Promise<T> {
    try {
      if (this.#watch.bar) throw this.#watch.bar.error;
      const value = await this.#awaited(call());
      this.#watch.passed(did, item);
      this.#tell(true);
      return value;
    } catch (error) {
      this.#watch.failed(error);
      // A damaged item says nothing about the others.
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

/** The answer to every call while the vault is locked. */
export function lockedVault(): VaultError {
  return new VaultError('locked', 'the vault is locked', {
    rule: 'vault: a locked vault gives nothing until you unlock it',
    hint: 'keyturn unlock',
  });
}

function neverOpened(): VaultError {
  return new VaultError('locked', 'the vault has no passphrase yet', {
    hint: 'keyturn unlock lets you choose one',
  });
}
