/**
 * Turns at a sign-in's tokens: refreshes, renewals, revocations and moves follow one another.
 *
 * Invariant: each sign-in has one turn at a time, in the order of the calls.
 */
import { keyedMutex } from '../../base/mutex.ts';

export class SignInTurns {
  readonly #inTurn = keyedMutex();
  /** All that wait or run. */
  readonly #turns = new Set<Promise<unknown>>();
  /** By sign-in: how many of its turns may change its tokens. */
  readonly #changing = new Map<string, number>();

  /** Runs `work` when nothing else touches the sign-in's tokens. */
  async take<T>(signInId: string, work: () => Promise<T>): Promise<T> {
    this.#changing.set(signInId, (this.#changing.get(signInId) ?? 0) + 1);
    try {
      return await this.#wait(signInId, work);
    } finally {
      const left = (this.#changing.get(signInId) ?? 1) - 1;
      if (left > 0) this.#changing.set(signInId, left);
      else this.#changing.delete(signInId);
    }
  }

  /** True while the sign-in's tokens are refreshed, kept, moved or revoked, or wait for that. */
  isTaken(signInId: string): boolean {
    return this.#changing.has(signInId);
  }

  /** As `isTaken`, of any sign-in. */
  get isAnyTaken(): boolean {
    return this.#changing.size > 0;
  }

  /** Resolves when the turns that were asked for so far have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#turns);
  }

  async #wait<T>(signInId: string, work: () => Promise<T>): Promise<T> {
    const turn = this.#inTurn(signInId, work);
    this.#turns.add(turn);
    try {
      return await turn;
    } finally {
      this.#turns.delete(turn);
    }
  }
}
