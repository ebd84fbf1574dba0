/**
 * Interactions: questions that wait for the user.
 *
 * Invariant: a question ends exactly once, by an answer, by withdrawal or by running out of time,
 * and only an explicit `yes` allows anything, given while the asker is still the one that was shown.
 * `no` is remembered by who asked; `later` isn't.
 */
import { randomBytes } from 'node:crypto';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { changedClient, refuseTerms } from './answer.ts';
import type { Answer, Decision, Terms, Verdict } from './answer.ts';
import type { Question } from './question.ts';

export type { Question } from './question.ts';

export interface Interaction {
  readonly id: string;
  readonly question: Question;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

interface Open extends Interaction {
  readonly settle: (askWithTerms: Decision) => void;
  readonly withdraw: (reason: unknown) => void;
}

/**
 * More open questions than a person can mean; a further one is refused rather than queued. Sign-ins are counted
 * apart from cards, and sign-ins of commands, windows and programs each by themselves: none crowds out another.
 */
const maxOpen = { cards: 64, 'sign-ins': 32 } as const;
/** One asker's part of them: a day's work touches fewer servers, and nobody else is crowded out. The command line counts as one. */
const maxPerClient = 8;

/** Milliseconds that a question stays open, so that an answer that comes late still counts. */
export const questionTimeout = 600_000;

export class Interactions {
  readonly #open = new Map<string, Open>();
  readonly #now: () => number;
  readonly #changed: () => void;
  readonly #mayAsk: (() => Promise<void>) | undefined;
  #ended: KeyturnError | undefined;

  /** `mayAsk` rejects where a yes could not count, because no person can give it; absent: each may. */
  constructor(now: () => number, changed: () => void, mayAsk?: () => Promise<void>) {
    this.#now = now;
    this.#changed = changed;
    this.#mayAsk = mayAsk;
  }

  list(): Interaction[] {
    return [...this.#open.values()].map(({ id, question, createdAt }) => ({ id, question, createdAt }));
  }

  find(id: string): Interaction | undefined {
    return this.#open.get(id);
  }

  /** Before anything is prepared that ends in a question. Rejects where a yes could not count. */
  async requireAskable(): Promise<void> {
    await this.#mayAsk?.();
  }

  /** Opens a question and waits for its answer. Rejects as `askWithTerms` does. */
  async ask(question: Question, signal: AbortSignal): Promise<Verdict> {
    return (await this.askWithTerms(question, signal)).verdict;
  }

  /**
   * Opens a question and waits for its answer and the terms of it. Rejects with the signal's reason
   * when it is withdrawn, with `rate_limited` when too many stand open, with what `end` was given, and
   * where a yes could not count.
   */
  async askWithTerms(question: Question, signal: AbortSignal): Promise<Decision> {
    signal.throwIfAborted();
    if (this.#mayAsk) {
      await this.#mayAsk();
      signal.throwIfAborted();
    }
    if (this.#ended) throw this.#ended;
    this.#refuseTooMany(question);
    const id = randomBytes(4).toString('hex');
    const { promise, resolve, reject } = Promise.withResolvers<Decision>();
    const open = { id, question, createdAt: this.#now(), settle: resolve, withdraw: reject };
    this.#open.set(id, open);
    const withdraw = (): void => reject(signal.reason);
    signal.addEventListener('abort', withdraw, { once: true });
    try {
      // Where nobody can be told of it the question is refused, and none stays open.
      this.#changed();
      return await promise;
    } finally {
      signal.removeEventListener('abort', withdraw);
      this.#open.delete(id);
      this.#changed();
    }
  }

  /** Withdraws every question with `reason`; later ones are refused with it. */
  end(reason: KeyturnError): void {
    this.#ended = reason;
    for (const { withdraw } of this.#open.values()) withdraw(reason);
  }

  #refuseTooMany(question: Question): void {
    const { what, counted, whose } = shareOf(question);
    const shares = [...this.#open.values()].map((open) => shareOf(open.question));
    const all = shares.filter((share) => share.counted === counted);
    const own = all.filter((share) => whose !== undefined && share.whose === whose);
    const most = maxOpen[what];
    if (all.length < most && own.length < maxPerClient) return;
    throw new KeyturnError('rate_limited', `${all.length} questions are open already.`, {
      rule: `At most ${most} open ${what}, ${maxPerClient} of one program or one command`,
      hint: 'Answer some, or call them off: `keyturn pending` lists them.',
    });
  }

  /**
   * Throws `not_found` for a question that is closed or never was, `invalid_request` for terms that
   * don't fit it, and `conflict` where the asker has changed: then the question is void, and closed.
   */
  answer(id: string, answer: Answer, terms: Terms = {}): Interaction {
    const open = this.#open.get(id);
    if (!open) {
      throw new KeyturnError('not_found', `No open question ${quoted(id)}.`, {
        hint: 'It may be answered, withdrawn or too old. `keyturn pending` lists the open ones.',
      });
    }
    const changed = answer === 'later' ? undefined : changedClient(open.question);
    if (changed) {
      open.settle({ verdict: 'void' });
      throw changed;
    }
    refuseTerms(open.question, answer, terms);
    open.settle({ verdict: answer, ...terms });
    return open;
  }
}

interface Share {
  readonly what: keyof typeof maxOpen;
  /** Questions of the same word count together. */
  readonly counted: string;
  /** Undefined for who has no name that counts: a program that isn't paired yet, the windows, the broker itself. */
  readonly whose: string | undefined;
}

function shareOf(question: Question): Share {
  switch (question.kind) {
    case 'login':
    case 'device': {
      const { starter } = question;
      const whose = starter?.by === 'command' ? `connection ${starter.connection}` : undefined;
      return { what: 'sign-ins', counted: `sign-ins of ${starter?.by ?? 'window'}`, whose };
    }
    case 'command':
      return { what: 'cards', counted: 'cards', whose: 'command' };
    case 'allow':
      return { what: 'cards', counted: 'cards', whose: `client ${question.clientId}` };
    case 'settings':
    case 'account':
    case 'pair':
      return { what: 'cards', counted: 'cards', whose: undefined };
  }
}
