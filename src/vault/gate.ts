/**
 * The gate in front of every kind of vault: shut, it refuses each call; open, it passes them on and lets
 * the watch see how they end.
 *
 * Invariants: while it is shut nothing reaches the vault but its end, and `shut` resolves only when what had passed
 * before has ended. It reads no answer and keeps none.
 */
import { personIsAsked, VaultError } from './base/trouble.ts';
import type { Vault, VaultKind } from './base/vault.ts';
import type { VaultWatch } from './base/watch.ts';

export class Gate implements Vault {
  readonly kind: VaultKind;
  readonly #vault: Vault;
  readonly #watch: VaultWatch;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(vault: Vault, watch: VaultWatch) {
    this.kind = vault.kind;
    this.#vault = vault;
    this.#watch = watch;
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
    if (this.#watch.bar) throw this.#watch.bar.error;
    const answer = call();
    this.#underWay.add(answer);
    try {
      const value = await answer;
      this.#watch.passed(did, item);
      return value;
    } catch (error) {
      this.#watch.failed(error);
      throw error;
    } finally {
      this.#underWay.delete(answer);
    }
  }
}

/** What everybody is told while the vault is locked. */
export function lockedVault(): VaultError {
  return new VaultError('locked', 'the vault is locked', {
    rule: 'vault: while it is locked, nothing is read from it until you unlock it',
    hint: 'keyturn unlock',
  });
}

function neverOpened(): VaultError {
  return new VaultError('locked', 'the vault has no passphrase yet', {
    hint: 'keyturn unlock lets you choose one',
  });
}
