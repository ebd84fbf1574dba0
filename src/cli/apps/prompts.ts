/**
 * Questions at this terminal about the entries of one server and account.
 *
 * Invariant: one is open at a time, and the first answer is the answer to all of them; but a yes gives no more than its
 * question named. One that was answered elsewhere ends, and answers no other.
 */
import { say } from '../terminal/output.ts';
import { confirmed } from '../terminal/standard-input.ts';

/** What a yes gives, each with what is before it. */
const given = ['pairing', 'token', 'apiKey'] as const;

type Given = (typeof given)[number];

/** The entries of one server and account, by their names, and the answer once it was given. */
export interface Together {
  readonly names: readonly string[];
  verdict?: 'approve' | 'deny';
  /** What the question that `verdict` answers named. */
  gives?: Given;
}

export interface Asked {
  readonly words: string;
  readonly gives: Given;
}

export class Prompts {
  readonly #together: Together;
  readonly #signal: AbortSignal;
  /** By the id of the question. */
  readonly #open = new Map<string, AbortController>();
  #last: Promise<void> = Promise.resolve();

  /** All end when `signal` aborts. */
  constructor(together: Together, signal: AbortSignal) {
    this.#together = together;
    this.#signal = signal;
  }

  ask(id: string, { words, gives }: Asked, answer: (verdict: 'approve' | 'deny') => void): void {
    const over = new AbortController();
    this.#open.set(id, over);
    const signal = AbortSignal.any([over.signal, this.#signal]);
    const before = this.#last;
    const ask = async (): Promise<void> => {
      await before.catch(() => undefined);
      try {
        if (signal.aborted) return;
        const together = this.#together;
        const { gives: had = 'pairing' } = together;
        const isMore = given.indexOf(gives) > given.indexOf(had);
        if (together.verdict === undefined || (together.verdict === 'approve' && isMore)) {
          say(words);
          together.verdict = (await confirmed('  ', signal)) ? 'approve' : 'deny';
          together.gives = gives;
        }
        answer(together.verdict);
      } catch (error) {
        if (!signal.aborted) throw error;
        say(over.signal.aborted ? ' Answered elsewhere.' : '');
      } finally {
        this.#open.delete(id);
      }
    };
    this.#last = ask();
    this.#last.catch(() => undefined);
  }

  /** `ids` of the questions that are still open. */
  keep(ids: readonly string[]): void {
    for (const [id, over] of this.#open) if (!ids.includes(id)) over.abort();
  }
}
