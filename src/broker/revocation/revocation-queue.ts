/**
 * Retries pending revocations at their authorization servers.
 *
 * Invariant: this queue never opens the vault first, and never calls a locked or failing vault: it waits until the
 * vault has answered another caller. The sign-ins record which revocations are pending, so a restart loses none; after
 * the first answer of the vault, all of them are retried at once.
 */
import type { BrokerParts } from '../parts.ts';
import type { VaultListener } from '../../vault/guard.ts';
import { isLiving, type EarlierItem, type SignIn } from '../records/sign-in.ts';
import {
  isPending,
  promised,
  retryRevocation,
  revokeEarlier,
  tooMany,
  type PendingSignIn,
} from './revoker.ts';

/** Milliseconds between two checks: less than the shortest pause between two tries. */
export const lookPeriod = 30_000;

/** Earlier tokens of sign-ins in use that are to end, and the milliseconds between two tries. */
const kinds = [
  { chosen: promised, period: 10 * 60 * 1000 },
  // Nothing depends on these, so that a server in trouble is asked rarely.
  { chosen: tooMany, period: 6 * 60 * 60 * 1000 },
] as const;

export class RevocationQueue implements VaultListener {
  readonly #parts: BrokerParts;
  #isVaultOpen = false;
  #hasBegun = false;
  /** When earlier tokens are tried next, in milliseconds since 1970: by place in `kinds`. */
  readonly #next = kinds.map(() => 0);
  #running: Promise<void> | undefined;

  constructor(parts: BrokerParts) {
    this.#parts = parts;
  }

  /** The vault has just answered another caller: for the first time, or again after a failure. */
  answered(): void {
    this.#isVaultOpen = true;
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    void this.retryAll();
  }

  /** At once, after a restart or a resume, except before a time that a server asked for. */
  async retryAll(): Promise<void> {
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
    await this.#run(({ state }, now) => (state.nextTryAt ?? 0) <= now);
  }

  /** Resolves when no try is under way. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async #run(isDue: (signIn: PendingSignIn, now: number) => boolean): Promise<void> {
    if (this.#running) return this.#running;
    this.#running = this.#tryAll(isDue).finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #tryAll(isDue: (signIn: PendingSignIn, now: number) => boolean): Promise<void> {
    if (!this.#isVaultOpen) return;
    const { clock, document } = this.#parts;
    await document.verify().catch(() => undefined);
    const due = this.#pending().filter((signIn) => isDue(signIn, clock.wall()));
    for (const signIn of due) {
      if (!this.#isVaultOpen) return;
      // If the record can't be written, it stays as it was, and is retried.
      await retryRevocation(this.#parts, signIn).catch(() => undefined);
    }
    await this.#tryEarlier();
  }

  async #tryEarlier(): Promise<void> {
    const now = this.#parts.clock.wall();
    for (const [at, { chosen, period }] of kinds.entries()) {
      const ending = (earlier: readonly EarlierItem[]): readonly EarlierItem[] => chosen(earlier, now);
      const due = this.#all().filter((one) => isLiving(one) && ending(one.earlier ?? []).length > 0);
      if (due.length === 0 || now < (this.#next[at] ?? 0)) continue;
      this.#next[at] = now + period;
      for (const signIn of due) {
        if (!this.#isVaultOpen) return;
        await revokeEarlier(this.#parts, signIn, ending).catch(() => undefined);
      }
    }
  }

  /** Sign-ins that can't be read have no revocation to retry; `keyturn status` shows them. */
  #pending(): PendingSignIn[] {
    return this.#all().filter(isPending);
  }

  #all(): readonly SignIn[] {
    try {
      return this.#parts.signIns.all();
    } catch {
      return [];
    }
  }
}
