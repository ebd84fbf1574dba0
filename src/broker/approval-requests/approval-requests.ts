/**
 * Approval requests. Each has a question (what it is about, and what its card shows), and waits for the user's answer.
 *
 * Invariant: a question ends exactly once: by an answer, by withdrawal or at its timeout. Only `approve`
 * allows anything, and only while the process that asked is still the one that the card showed. The caller
 * stores `deny`, and doesn't store `dismiss`. A question that can't be shown whole isn't opened: the list that holds it could
 * not be read, and no other question of it either.
 */
import { randomBytes } from 'node:crypto';
import { untilAborted } from '../../base/abort.ts';
import type { Clock } from '../../base/clock.ts';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { DeadlineExceeded, RequestDeadline } from '../../base/request-deadline.ts';
import { changedApp, refuseTerms, type Answer, type Decision, type Terms } from './answer.ts';
import type { AllowQuestion, Question } from './question.ts';

export type { Question } from './question.ts';

export interface ApprovalRequest {
  readonly id: string;
  readonly question: Question;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** The card that shows it, by the id of the question that opened that card: its own id, or as `sharedCard` says. */
  readonly card: string;
}

interface OpenRequest extends ApprovalRequest {
  readonly settle: (decision: Decision) => void;
  readonly withdraw: (reason: unknown) => void;
}

/** More are refused, not queued. Cards, and the sign-ins of commands, windows and apps, are counted apart. */
const maxOpen = { cards: 64, 'sign-ins': 32 } as const;
/** The share of one app: enough for a day's work, and no app crowds out others. The command line counts as one app. */
const maxPerApp = 8;

/** Milliseconds that a question stays open, so that a late answer is still valid. */
export const questionTimeout = 600_000;

export class ApprovalRequests {
  readonly #open = new Map<string, OpenRequest>();
  readonly #now: () => number;
  readonly #changed: () => void;
  readonly #requireShowable: (open: ApprovalRequest) => void;
  #mayAsk: (() => Promise<void>) | undefined;
  #ended: KeyturnError | undefined;

  /** `requireShowable` throws `invalid_request` for a question that no list and no card can show. */
  constructor(
    now: () => number,
    changed: () => void,
    requireShowable: (open: ApprovalRequest) => void = () => undefined,
  ) {
    this.#now = now;
    this.#changed = changed;
    this.#requireShowable = requireShowable;
  }

  /** From now on no question but that about settings opens if this rejects: an approval would have no effect. */
  guardBy(mayAsk: () => Promise<void>): void {
    this.#mayAsk = mayAsk;
  }

  list(): ApprovalRequest[] {
    return [...this.#open.values()].map(({ id, question, createdAt, card }) => ({
      id,
      question,
      createdAt,
      card,
    }));
  }

  find(id: string): ApprovalRequest | undefined {
    return this.#open.get(id);
  }

  /** Call this before any preparation that ends in a question. Rejects if an approval could have no effect. */
  async requireAskable(): Promise<void> {
    await this.#mayAsk?.();
  }

  /**
   * Calls `opened` once the question is open. Rejects with the signal's reason, `rate_limited` for too many questions, the
   * reason of `end`, and as the guards do.
   */
  async ask(question: Question, signal: AbortSignal, opened = (): void => undefined): Promise<Decision> {
    signal.throwIfAborted();
    if (this.#mayAsk && question.kind !== 'settings') {
      await this.#mayAsk();
      signal.throwIfAborted();
    }
    if (this.#ended) throw this.#ended;
    this.#refuseTooMany(question);
    const id = randomBytes(4).toString('hex');
    const { promise, resolve, reject } = Promise.withResolvers<Decision>();
    const card = sharedCard(question, [...this.#open.values()]) ?? id;
    const open = { id, question, createdAt: this.#now(), card, settle: resolve, withdraw: reject };
    this.#requireShowable(open);
    this.#open.set(id, open);
    const withdraw = (): void => reject(signal.reason);
    signal.addEventListener('abort', withdraw, { once: true });
    try {
      // If the change can't be announced, the question is refused and none stays open.
      this.#changed();
      opened();
      return await promise;
    } finally {
      signal.removeEventListener('abort', withdraw);
      this.#open.delete(id);
      this.#changed();
    }
  }

  /** What an open question shows has changed. */
  changed(): void {
    this.#changed();
  }

  withdrawAllOf(appId: string): void {
    const reason = new KeyturnError('interrupted', 'The app that asked can no longer use an answer.');
    for (const { question, withdraw } of this.#open.values())
      if ('appId' in question && question.appId === appId) withdraw(reason);
  }

  /** Withdraws every question with `reason`, and refuses later ones with it. */
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
    if (all.length < most && own.length < maxPerApp) return;
    throw new KeyturnError('rate_limited', `${all.length} requests are open already.`, {
      rule: `At most ${most} open ${what}, ${maxPerApp} of one app or one command`,
      hint: 'Answer or cancel some: `keyturn request list` lists them.',
    });
  }

  /**
   * The caller of `ask` goes on with it: for an app's question, consent/consent.ts. Throws `not_found`, `invalid_request`
   * for terms that don't fit, and `conflict` if the process that asked has changed.
   */
  answer(id: string, answer: Answer, terms: Terms = {}): ApprovalRequest {
    const open = this.#open.get(id);
    if (!open) {
      throw new KeyturnError('not_found', `No open request ${quoted(id)}.`, {
        hint: 'It may be answered, withdrawn or too old. `keyturn request list` lists the open ones.',
      });
    }
    const changed = answer === 'dismiss' ? undefined : changedApp(open.question);
    if (changed) {
      open.settle({ verdict: 'void' });
      throw changed;
    }
    refuseTerms(open.question, answer, terms);
    open.settle({ verdict: answer, ...terms });
    return open;
  }
}

/**
 * Asks by a card, until the answer comes or `signal` aborts; `dismiss` if the user doesn't answer in time. Then the
 * card is closed. Rejects as `ApprovalRequests.ask` does, and with `interrupted` if `signal` gives no reason of ours.
 */
export async function askUser(
  { clock, approvalRequests }: { readonly clock: Clock; readonly approvalRequests: ApprovalRequests },
  question: Question,
  signal: AbortSignal,
): Promise<Decision> {
  const waiting = new RequestDeadline(clock, questionTimeout, signal);
  try {
    return await untilAborted(approvalRequests.ask(question, waiting.signal), waiting.signal);
  } catch (error) {
    if (error instanceof DeadlineExceeded) return { verdict: 'dismiss' };
    throw signal.reason instanceof KeyturnError ? signal.reason : error;
  } finally {
    waiting.end();
  }
}

interface Share {
  readonly what: keyof typeof maxOpen;
  /** Questions with the same value count together. */
  readonly counted: string;
  /** Undefined for an app that isn't paired yet, the windows and the broker: they have no stable id to count by. */
  readonly whose: string | undefined;
}

function shareOf(question: Question): Share {
  if (question.kind === 'signIn' || question.kind === 'device') {
    const { starter } = question;
    const whose = starter?.by === 'command' ? `connection ${starter.connection}` : undefined;
    return { what: 'sign-ins', counted: `sign-ins of ${starter?.by ?? 'window'}`, whose };
  }
  const app = 'appId' in question ? `app ${question.appId}` : undefined;
  return { what: 'cards', counted: 'cards', whose: question.kind === 'command' ? 'command' : app };
}

/** As many servers as a user still looks at one by one. */
const maxOnCard = 5;

/**
 * What one run of an app asks while its card is open is on that card: only if the system attests one process, which
 * still runs the file that it ran at the earlier question, and if all that a card says of the app is the same. A
 * shared card is display only: each question has its own answer. Returns the open card that this question joins;
 * undefined if it needs one of its own.
 */
function sharedCard(question: Question, open: readonly ApprovalRequest[]): string | undefined {
  if (question.kind !== 'allow') return undefined;
  const said = saidOf(question);
  const isFull = (card: string): boolean => open.filter((other) => other.card === card).length >= maxOnCard;
  const isOfOneRun = (earlier: Question): boolean =>
    earlier.kind === 'allow' && saidOf(earlier) === said && earlier.appProcess?.nowIs() === 'same';
  return open.find((other) => isOfOneRun(other.question) && !isFull(other.card))?.card;
}

/** What a card says of the app, and the run that only the broker sees. */
function saidOf({ appId, appName, appProcess, proxied, isDetached, forward }: AllowQuestion): string {
  return JSON.stringify([appId, appName, appProcess, proxied, isDetached, forward]);
}
