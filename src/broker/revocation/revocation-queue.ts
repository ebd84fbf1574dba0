/**
 * Retries pending revocations at their authorization servers.
 *
 * Invariant: this queue never opens the vault first, and never calls a locked or failing vault: it waits until the
 * vault has answered another caller. The grants record which revocations are pending, so a restart loses none; after
 * the first answer of the vault, all of them are retried at once.
 */
import type { VaultListener } from '../../vault/guard.ts';
import type { Grant } from '../records/grant.ts';
import { isPending, retryRevocation } from './revoker.ts';
import type { PendingGrant, RevokerParts } from './revoker.ts';

/** Milliseconds between two checks: half the shortest pause between two tries. */
export const lookPeriod = 30_000;

export class RevocationQueue implements VaultListener {
  readonly #parts: RevokerParts;
  #isVaultOpen = false;
  #hasBegun = false;
  #running: Promise<void> | undefined;

  constructor(parts: RevokerParts) {
    this.#parts = parts;
  }

  /** The vault has just answered another caller: for the first time, or again after a failure. */
  answered(): void {
    this.#isVaultOpen = true;
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    void this.lookAnew();
  }

  /**
   * After a restart, a resume or the return of the network it retries at once, except before a time that a server
   * asked for.
   */
  async lookAnew(): Promise<void> {
    // Tries that started before this call don't count.
    if (this.#running) await this.#running;
    await this.#run(({ state }, now) => (state.notBefore ?? 0) <= now);
  }

  /** The vault is locked or doesn't answer: don't call it until it has answered another caller. */
  failed(): void {
    this.#isVaultOpen = false;
  }

  /** Retries the revocations that are due. Never rejects. */
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
      // If the record can't be written, it stays as it was, and is retried.
      await retryRevocation(this.#parts, grant).catch(() => undefined);
    }
  }

  /** Grants that can't be read have no revocation to retry; `keyturn status` shows them. */
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
