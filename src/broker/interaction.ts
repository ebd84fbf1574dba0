/**
 * Interactions: questions that wait for the user.
 *
 * Invariant: a question ends exactly once, by an answer, by withdrawal or by running out of time,
 * and only an explicit `yes` allows anything. `no` is remembered by who asked; `later` isn't.
 */
import { randomBytes } from 'node:crypto';
import { KeyturnError, quoted } from '../errors.ts';

export type Answer = 'yes' | 'no' | 'later';

export type Question =
  | {
      readonly kind: 'allow';
      readonly clientId: string;
      readonly clientName: string;
      readonly endpoint: string;
      /** Absent: the program named no scopes. */
      readonly scope?: readonly string[];
    }
  | {
      readonly kind: 'pair';
      readonly clientName: string;
      /** Six digits that the program shows too. */
      readonly code: string;
      readonly executable?: string;
    }
  | {
      readonly kind: 'login';
      readonly endpoint: string;
      readonly issuer: string;
      /** The authorization URL, for a person whose browser did not open. */
      readonly url: string;
      /** The issuer that the protected server named before, where it names another now. */
      readonly formerIssuer?: string;
      /** Takes the address that a browser elsewhere ended at. Throws `state_mismatch`, `invalid_request`. */
      readonly paste: (address: string) => void;
    }
  | {
      readonly kind: 'device';
      readonly endpoint: string;
      readonly issuer: string;
      /** For the user alone. */
      readonly userCode: string;
      readonly url: string;
      /** The same with the code in it. */
      readonly completeUrl?: string;
    };

export interface Interaction {
  readonly id: string;
  readonly question: Question;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

interface Open extends Interaction {
  readonly settle: (answer: Answer) => void;
}

/**
 * More open cards than a person can mean; a further one is refused rather than queued. Sign-ins don't
 * count: the user starts them, or they take turns.
 */
const mostOpen = 64;
/** One program's part of them: a day's work touches fewer servers, and nobody else is crowded out. */
const mostOfOneClient = 8;

export class Interactions {
  readonly #open = new Map<string, Open>();
  readonly #now: () => number;
  readonly #changed: () => void;

  constructor(now: () => number, changed: () => void) {
    this.#now = now;
    this.#changed = changed;
  }

  list(): Interaction[] {
    return [...this.#open.values()].map(({ id, question, createdAt }) => ({ id, question, createdAt }));
  }

  find(id: string): Interaction | undefined {
    return this.#open.get(id);
  }

  /**
   * Opens a question and waits for its answer. Rejects with the signal's reason when it is
   * withdrawn, and with `rate_limited` when too many stand open.
   */
  async ask(question: Question, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    this.#refuseTooMany(question);
    const id = randomBytes(4).toString('hex');
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#open.set(id, { id, question, createdAt: this.#now(), settle: resolve });
    const withdraw = (): void => reject(signal.reason);
    signal.addEventListener('abort', withdraw, { once: true });
    this.#changed();
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', withdraw);
      this.#open.delete(id);
      this.#changed();
    }
  }

  #refuseTooMany(question: Question): void {
    if (question.kind === 'login') return;
    const cards = [...this.#open.values()].filter((open) => open.question.kind !== 'login');
    const own = cards.filter(
      (open) =>
        question.kind === 'allow' &&
        open.question.kind === 'allow' &&
        open.question.clientId === question.clientId,
    );
    if (cards.length < mostOpen && own.length < mostOfOneClient) return;
    throw new KeyturnError('rate_limited', `${cards.length} questions are open already.`, {
      rule: `At most ${mostOpen} open questions, ${mostOfOneClient} of one program`,
      hint: 'Answer some: `keyturn pending` lists them.',
    });
  }

  /** Throws `not_found` for a question that is closed or never was. */
  answer(id: string, answer: Answer): Interaction {
    const open = this.#open.get(id);
    if (!open) {
      throw new KeyturnError('not_found', `No open question ${quoted(id)}.`, {
        hint: 'It may be answered, withdrawn or too old. `keyturn pending` lists the open ones.',
      });
    }
    open.settle(answer);
    return open;
  }
}
