/**
 * Turns at a grant's tokens: refreshes, sign-ins, revocations and moves of one grant follow one another.
 *
 * Invariant: each grant has one turn at a time, in the order of the calls.
 */
import { keyedMutex } from '../../base/mutex.ts';

export class GrantTurns {
  readonly #inTurn = keyedMutex();
  /** All that wait or run. */
  readonly #turns = new Set<Promise<unknown>>();
  /** By grant: how many of its turns may change its tokens. */
  readonly #changing = new Map<string, number>();

  /** Runs `work` when nothing else touches the grant's tokens. */
  async take<T>(grantId: string, work: () => Promise<T>): Promise<T> {
    this.#changing.set(grantId, (this.#changing.get(grantId) ?? 0) + 1);
    try {
      return await this.#wait(grantId, work);
    } finally {
      const left = (this.#changing.get(grantId) ?? 1) - 1;
      if (left > 0) this.#changing.set(grantId, left);
      else this.#changing.delete(grantId);
    }
  }

  /** True while the grant's tokens are refreshed, kept, moved or revoked, or wait for that. */
  isTaken(grantId: string): boolean {
    return this.#changing.has(grantId);
  }

  /** As `isTaken`, of any grant. */
  get isAnyTaken(): boolean {
    return this.#changing.size > 0;
  }

  /** Resolves when the turns that were asked for so far have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#turns);
  }

  async #wait<T>(grantId: string, work: () => Promise<T>): Promise<T> {
    const turn = this.#inTurn(grantId, work);
    this.#turns.add(turn);
    try {
      return await turn;
    } finally {
      this.#turns.delete(turn);
    }
  }
}
