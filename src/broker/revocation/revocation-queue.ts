/**
 * Revocations that the authorization server could not be told of yet, tried again by themselves.
 *
 * Invariant: nothing here is the first to open the vault, and nothing here asks one that is locked or
 * in trouble: it waits until the vault has answered somebody else. What is pending is what the grants
 * say, so a restart loses none; the first answer of the vault after it tries them all at once.
 */
import type { VaultListener } from '../../vault/guard.ts';
import type { Grant } from '../records/grant.ts';
import { isPending, retryRevocation } from './revoker.ts';
import type { PendingGrant, RevokerParts } from './revoker.ts';

/** Milliseconds between two looks: half the shortest pause between two tries. */
export const lookPeriod = 30_000;

export class RevocationQueue implements VaultListener {
  readonly #parts: RevokerParts;
  #isVaultOpen = false;
  #hasBegun = false;
  #running: Promise<void> | undefined;

  constructor(parts: RevokerParts) {
    this.#parts = parts;
  }

  /** The vault has just answered somebody: for the first time, or again after trouble. */
  answered(): void {
    this.#isVaultOpen = true;
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    void this.lookAnew();
  }

  /** A restart, a resume or a network that is back is a reason to try at once, but for what the server itself asked to wait for. */
  async lookAnew(): Promise<void> {
    // Tries under way began before that, and say nothing about it.
    if (this.#running) await this.#running;
    await this.#run(({ state }, now) => (state.notBefore ?? 0) <= now);
  }

  /** The vault is locked, or doesn't answer: nothing is asked of it until it has answered somebody else. */
  failed(): void {
    this.#isVaultOpen = false;
  }

  /** Tries what is due. Never rejects. */
  async look(): Promise<void> {
    await this.#run(({ state }, now) => (state.nextTry ?? 0) <= now);
  }

  /** Resolves when no try is under way. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(isDue: (grant: PendingGrant, now: number) => boolean): Promise<void> {
    if (this.#running) return this.#running;
    this.#running = this.#tryAll(isDue).finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #tryAll(isDue: (grant: PendingGrant, now: number) => boolean): Promise<void> {
    const { clock } = this.#parts;
    const due = this.#pending().filter((grant) => isDue(grant, clock.wall()));
    for (const grant of due) {
      if (!this.#isVaultOpen) return;
      // What the receipt doesn't tell (the record can't be written, say) is as it was, and tried again.
      await retryRevocation(this.#parts, grant).catch(() => undefined);
    }
  }

  /** Grants that can't be read have nothing that could be tried; `keyturn status` shows them. */
  #pending(): PendingGrant[] {
    let all: readonly Grant[] = [];
    try {
      all = this.#parts.grants.all();
    } catch {
      return [];
    }
    return all.filter(isPending);
  }
}
