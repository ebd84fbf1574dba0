/**
 * Questions at this terminal about the entries of one server and account.
 *
 * Invariant: one is asked at a time, and the first answer is the answer to all of them; but an approval gives no
 * more than its question named, and a refusal takes nothing from an earlier one. One that is no longer open at the broker ends, and
 * answers no other.
 */
import { say } from '../terminal/output.ts';
import { confirmed } from '../terminal/standard-input.ts';

/** The entries of one server and account, by their names, and what was answered about them. */
export interface Together {
  readonly names: readonly string[];
  readonly answers: (Asked & { readonly verdict: Verdict })[];
}

type Verdict = 'approve' | 'deny';

export interface Asked {
  readonly words: string;
  /** The broker asks about the pairing only: any yes answers that. The words may name what comes next. */
  readonly isPairing: boolean;
  /** What the words name, besides the pairing. */
  readonly gives: 'nothing' | 'token' | 'apiKey';
  /** Of the access; absent if the question named none. */
  readonly account?: string | undefined;
  readonly scope?: string | undefined;
}

/** The answer to `asked` that was given already; undefined if there is none. */
export function verdictOn(
  asked: Omit<Asked, 'words'>,
  { answers }: Pick<Together, 'answers'>,
): Verdict | undefined {
  const isNamed = (by: string | undefined, one: string | undefined): boolean =>
    by === undefined || by === one;
  const isGiven = ({ verdict, gives, account, scope }: Together['answers'][number]): boolean =>
    verdict === 'approve' &&
    (asked.isPairing ||
      (gives === asked.gives && isNamed(account, asked.account) && isNamed(scope, asked.scope)));
  if (answers.some(isGiven)) return 'approve';
  return answers.some(({ verdict }) => verdict === 'deny') ? 'deny' : undefined;
}

/** True if you denied the entries everything. */
export const isDenied = ({ answers }: Pick<Together, 'answers'>): boolean =>
  answers.length > 0 && answers.every(({ verdict }) => verdict === 'deny');

export class Prompts {
  readonly #together: Together;
  readonly #signal: AbortSignal;
  /** By the id of the question. */
  readonly #asked = new Map<string, AbortController>();
  #last: Promise<void> = Promise.resolve();

  /** All end when `signal` aborts. */
  constructor(together: Together, signal: AbortSignal) {
    this.#together = together;
    this.#signal = signal;
  }

  ask(id: string, asked: Asked, answer: (verdict: Verdict) => void): void {
    const over = new AbortController();
    this.#asked.set(id, over);
    const signal = AbortSignal.any([over.signal, this.#signal]);
    const before = this.#last;
    const ask = async (): Promise<void> => {
      await before.catch(() => undefined);
      try {
        if (signal.aborted) return;
        const known = verdictOn(asked, this.#together);
        if (known) return answer(known);
        say(asked.words);
        const verdict = (await confirmed('  ', signal)) ? 'approve' : 'deny';
        this.#together.answers.push({ ...asked, verdict });
        answer(verdict);
      } catch (error) {
        if (!signal.aborted) throw error;
        say(over.signal.aborted ? ' No longer asked.' : '');
      } finally {
        this.#asked.delete(id);
      }
    };
    this.#last = ask();
    this.#last.catch(() => undefined);
  }

  /** `ids` of the questions that are still open. */
  keep(ids: readonly string[]): void {
    for (const [id, over] of this.#asked) if (!ids.includes(id)) over.abort();
  }
}
