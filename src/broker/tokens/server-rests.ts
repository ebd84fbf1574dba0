/**
 * Servers that failed a moment ago, and when each may be asked again. Discovery, registration and sign-ins send their
 * requests through this class.
 *
 * Invariant: the data is in memory and bounded, and every rest ends automatically. An app's request reaches no resting
 * server; the refusal says when the rest ends. A user's own sign-in is tried at once. If a server asked for no requests,
 * a user has one try in ten seconds.
 */
import { Unreachable, detailsOf, type Reason } from '../../base/errors.ts';
import { firstWait, maxWait, backoffDelay } from '../../base/backoff.ts';
import { resting, unreachableUntil } from '../refusals/refusals.ts';

/** The step of one server, such as `registration https://issuer.example`. */
export interface Asking {
  readonly what: string;
  /** The user started it; else an app's request did. */
  readonly isByUser: boolean;
}

/** Steady instants, in milliseconds. */
interface Rest {
  /** Until then no app's request goes there. */
  readonly until: number;
  /** Until then the server itself asked for no requests. */
  readonly askedUntil: number;
}

interface Failure extends Rest {
  readonly error: Unreachable;
  /** A user's last try. */
  readonly userAt: number | undefined;
  readonly inARow: number;
}

/** Reasons that concern a server. Others concern this machine and don't count against the server. */
const outages: readonly Reason[] = ['authorization_server_unreachable', 'mcp_server_unreachable'];

/** Milliseconds. A user retries after fixing something; a loop in a script retries more often. */
const userPause = 10_000;

/** Milliseconds after the end of a rest. Failures further apart are not in a row: twice the longest pause. */
const maxMemory = 2 * maxWait;

/** More servers than one user has. Beyond it the oldest entry is dropped. */
const maxRemembered = 256;

export class ServerRests {
  readonly #now: () => number;
  /** The last failure of each step, oldest first. */
  readonly #failures = new Map<string, Failure>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Throws what `work` throws, and Unreachable with `retryAfter` if the server fails or rests. */
  async ask<T>({ what, isByUser }: Asking, work: () => Promise<T>): Promise<T> {
    const last = this.#failures.get(what);
    const left = last ? this.#left(last, isByUser) : 0;
    if (last && left > 0) throw new AtRest(resting(last.error, left, isByUser), last.error, last);
    try {
      const answer = await work();
      this.#failures.delete(what);
      return answer;
    } catch (error) {
      if (!(error instanceof Unreachable) || !outages.includes(error.reason)) throw error;
      throw this.#failed({ what, isByUser }, error);
    }
  }

  /** The machine woke up, or the network is back: only times that a server asked for are kept. */
  wake(): void {
    const now = this.#now();
    for (const [what, failure] of this.#failures) {
      this.#failures.set(what, { ...failure, inARow: 0, until: Math.max(now, failure.askedUntil) });
    }
  }

  #left({ until, askedUntil, userAt }: Failure, isByUser: boolean): number {
    const now = this.#now();
    const end = isByUser ? Math.min(askedUntil, (userAt ?? -Infinity) + userPause) : until;
    return Math.max(0, end - now);
  }

  #failed({ what, isByUser }: Asking, error: Unreachable): AtRest {
    this.#prune();
    const now = this.#now();
    const last = this.#failures.get(what);
    const inARow = (last?.inARow ?? 0) + 1;
    const userAt = isByUser ? now : last?.userAt;
    // A step within this one already rests: its error has the time and the failure.
    const { rest: inner, failure = error } = error instanceof AtRest ? error : {};
    const askedUntil = inner?.askedUntil ?? now + (error.retryAfter ?? 0) * 1000;
    const ownEnd = now + backoffDelay(inARow, firstWait, maxWait);
    const rest = { until: Math.max(ownEnd, askedUntil, inner?.until ?? 0), askedUntil };
    this.#failures.delete(what);
    this.#failures.set(what, { ...rest, error: failure, userAt, inARow });
    return new AtRest(unreachableUntil(error, rest.until - now), failure, rest);
  }

  #prune(): void {
    const now = this.#now();
    for (const [what, { until }] of this.#failures) {
      if (until + maxMemory < now) this.#failures.delete(what);
    }
    const [oldest] = this.#failures.keys();
    if (oldest !== undefined && this.#failures.size >= maxRemembered) this.#failures.delete(oldest);
  }
}

/** A refusal that carries its rest. */
class AtRest extends Unreachable {
  readonly failure: Unreachable;
  readonly rest: Rest;

  constructor(refusal: Unreachable, failure: Unreachable, rest: Rest) {
    super(refusal.reason, refusal.message, detailsOf(refusal));
    this.failure = failure;
    this.rest = rest;
  }
}

/** The same refusal with another hint. It keeps its rest. */
export function withHint(error: Unreachable, hint: string): Unreachable {
  const changed = new Unreachable(error.reason, error.message, { ...detailsOf(error), hint });
  return error instanceof AtRest ? new AtRest(changed, error.failure, error.rest) : changed;
}
