/**
 * The guard in front of every kind of vault. It refuses each call while the vault is locked, reports the result of
 * each call to the watch, and tells listeners when the vault begins to answer and when it stops.
 *
 * Invariants: while the guard is shut, only `destroy`, `close` and calls for `newest` reach the vault. `shut` resolves
 * only when the calls that it had admitted before have ended. The guard keeps no secret but the root key, which it
 * forgets when it is shut, and makes no call to the vault by itself.
 */
import type { KeyObject } from 'node:crypto';
import { reasonOf } from '../base/errors.ts';
import { rootItem } from './base/item-store.ts';
import { lockedVault, MissingItem, userIsAsked, VaultError } from './base/trouble.ts';
import { newestItem, type Vault, type VaultKind } from './base/vault.ts';
import type { VaultWatch } from './base/watch.ts';

/** For work that needs a secret, but should wait until another call has shown that the vault answers. */
export interface VaultListener {
  /** The vault answered a call: the first one, or the first one after trouble. */
  answered(): void;
  /** The vault is locked or unavailable. */
  failed(): void;
}

export class VaultGuard implements Vault {
  readonly kind: VaultKind;
  readonly #vault: Vault;
  readonly #watch: VaultWatch;
  readonly #listeners: VaultListener[] = [];
  readonly #underWay = new Set<Promise<unknown>>();
  #root: Promise<KeyObject> | undefined;
  #isAnswering = false;

  constructor(vault: Vault, watch: VaultWatch) {
    this.kind = vault.kind;
    this.#vault = vault;
    this.#watch = watch;
  }

  /** Listeners are called in the order in which they came. */
  listen(listener: VaultListener): void {
    this.#listeners.push(listener);
  }

  get(name: string): Promise<string> {
    return this.#pass('read', name, () => this.#vault.get(name));
  }

  set(name: string, value: string): Promise<void> {
    return this.#pass('write', name, () => this.#vault.set(name, value));
  }

  /** Of `newest` also while the guard is shut: the vault decides. */
  replace(name: string, before: string | undefined, after: string): Promise<string | undefined> {
    return this.#pass('write', name, () => this.#vault.replace(name, before, after));
  }

  delete(name: string): Promise<void> {
    return this.#pass('write', name, () => this.#vault.delete(name));
  }

  /** Read once, until the guard is shut. A failure is not remembered. */
  async root(): Promise<KeyObject> {
    if (this.#watch.block) throw this.#watch.block.error;
    this.#root ??= this.#pass('read', rootItem, () => this.#vault.root());
    const root = this.#root;
    return root.catch((error: unknown) => {
      if (this.#root === root) this.#root = undefined;
      throw error;
    });
  }

  /** Works while the guard is shut, too: it returns no secret. */
  destroy(names: readonly string[]): Promise<void> {
    return this.#vault.destroy(names);
  }

  close(): Promise<void> {
    return this.#vault.close();
  }

  /** Refuses calls from now on. `isNew`: nobody has chosen a passphrase yet. `opensAtStart`: see `lockedVault`. */
  async shut({ isNew = false, opensAtStart = false } = {}): Promise<void> {
    const error = isNew ? neverOpened() : lockedVault({ opensAtStart });
    this.#watch.block = { state: isNew ? 'new' : 'locked', error };
    await Promise.allSettled(this.#underWay);
    this.#root = undefined;
  }

  /**
   * While a user is asked to unlock the vault: refuses every call, unless the vault is open. The returned function
   * restores the state of before.
   */
  hold(): () => void {
    const before = this.#watch.block;
    if (!this.#watch.isOpen) this.#watch.block = { state: before?.state ?? 'waiting', error: userIsAsked() };
    return () => {
      this.#watch.block = before;
    };
  }

  open(): void {
    this.#watch.block = undefined;
  }

  async #pass<T>(did: 'read' | 'write', item: string, call: () => Promise<T>): Promise<T> {
    try {
      if (this.#watch.block && item !== newestItem) throw this.#watch.block.error;
      const value = await this.#awaited(call());
      this.#answered(did, item);
      return value;
    } catch (error) {
      if (error instanceof MissingItem) this.#answered('read', item);
      this.#watch.failed(error);
      // For a damaged item no listener is called: the vault still serves the other items.
      if (['locked', 'vault_unavailable'].includes(reasonOf(error))) this.#tell(false);
      throw error;
    }
  }

  #answered(did: 'read' | 'write', item: string): void {
    this.#watch.passed(did, item);
    this.#tell(true);
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
    for (const listener of this.#listeners) {
      if (isAnswering) listener.answered();
      else listener.failed();
    }
  }
}

function neverOpened(): VaultError {
  return new VaultError('locked', 'the vault has no passphrase yet', {
    hint: 'Choose one with: keyturn unlock',
  });
}
