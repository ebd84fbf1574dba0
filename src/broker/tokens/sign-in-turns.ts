/**
 * Turns at a sign-in's tokens: refreshes, renewals and revocations follow one another.
 *
 * Invariant: each sign-in has one turn at a time, in the order of the calls.
 */
import { keyedMutex } from '../../base/mutex.ts';

export class SignInTurns {
  readonly #inTurn = keyedMutex();
  /** All that wait or run, and the sign-in of each. */
  readonly #turns = new Map<Promise<unknown>, string>();

  /** Runs `work` when nothing else touches the sign-in's tokens. */
  async take<T>(signInId: string, work: () => Promise<T>): Promise<T> {
    const turn = this.#inTurn(signInId, work);
    this.#turns.set(turn, signInId);
    try {
      return await turn;
    } finally {
      this.#turns.delete(turn);
    }
  }

  /** True while the sign-in's tokens are refreshed, kept or revoked, or wait for that. */
  isTaken(signInId: string): boolean {
    return this.#turns.values().some((one) => one === signInId);
  }

  get isAnyTaken(): boolean {
    return this.#turns.size > 0;
  }

  /** Resolves when the turns that were asked for so far have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#turns.keys());
  }
}
