/**
 * Compares every line of the index of grants with the vault, once in a run and in the background. So a line that no
 * request uses is mended too, and a revocation that only the vault knows of goes on.
 *
 * Invariants: it never opens the vault first, stops when the vault doesn't answer, and goes on when the vault answers
 * again. A lock or a stop waits for one grant at most.
 */
import type { VaultListener } from '../../vault/guard.ts';
import type { Grant, Grants } from '../records/grant.ts';
import type { Registrations } from '../records/registrations.ts';

export interface SweepParts {
  readonly grants: Grants;
  /** Compares each grant with the vault, and mends its line. */
  readonly refresher: { readonly compareWithVault: (grants: readonly Grant[]) => Promise<unknown> };
  readonly registrations: Registrations;
}

export class IndexSweep implements VaultListener {
  readonly #parts: SweepParts;
  #isVaultOpen = false;
  #hasEnded = false;
  #running: Promise<void> | undefined;

  constructor(parts: SweepParts) {
    this.#parts = parts;
  }

  /** The vault has just answered another caller. */
  answered(): void {
    this.#isVaultOpen = true;
    this.#running ??= this.#run()
      // A request that needs the grant meets the same refusal of the vault or the disk, and reports it.
      .catch(() => undefined)
      .finally(() => (this.#running = undefined));
  }

  /** The vault is locked, or doesn't answer. */
  failed(): void {
    this.#isVaultOpen = false;
  }

  /** Compares no further grant. Resolves when the present one is done. */
  async end(): Promise<void> {
    this.#hasEnded = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    const { grants, refresher, registrations } = this.#parts;
    await registrations.verify();
    if (!grants.isReadable) return;
    for (const grant of grants.all()) {
      if (!this.#isVaultOpen || this.#hasEnded) return;
      await refresher.compareWithVault([grant]);
    }
  }
}
