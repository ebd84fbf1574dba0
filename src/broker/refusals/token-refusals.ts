/**
 * Access tokens that a protected server refused although they should have been good.
 *
 * Invariants: a refusal replaces the token, so a server that refuses every token could set off refreshes
 * without end; after a few refusals the next ones replace nothing for a while. That pause ends by itself,
 * and doubles if the refusals go on. It holds for one program, grant and operation, and in all for one
 * program and grant. It takes no token from anybody: a token in memory is still handed out.
 */
import { doubled } from '../../base/backoff.ts';
import type { ClientChallenge } from '../questions/token-request.ts';

/** 3 tries in 10 minutes (milliseconds). */
const maxOfOperation = 3;
const countedFor = 600_000;

/** Over all operations. Some servers revoke tokens early now and then; ten times in ten minutes is no accident. */
const maxOfProgram = 10;

/** Milliseconds: a server that restarts is back within a minute; six tries an hour cost nobody anything. */
const firstPause = 60_000;
const maxPause = 600_000;

/** Operations counted apart for one program and grant; a program that names more has the rest counted as one. */
const maxOperations = 64;

/**
 * Milliseconds. A token that ends within this time may have been over when the server looked at it: the
 * request was on its way, and servers cut times to the second.
 */
export const expiryGrace = 1000;

/** Who reports a refusal, and of what. */
export interface RefusedUse {
  readonly clientId: string;
  readonly grantId: string;
  /** What the program was about to do; absent where it names nothing. */
  readonly operation?: string | undefined;
}

export interface Rejection {
  readonly clientId: string;
  readonly token: { readonly tokenId: string } | { readonly accessToken: string };
  /** What the program was about to do. */
  readonly operation?: string | undefined;
  /** The protected server took this very token before. */
  readonly hasWorked?: boolean | undefined;
  /** What the server said with it. */
  readonly challenge?: ClientChallenge | undefined;
}

/** What follows a refusal: the token is replaced at the next request, or it stays. */
export interface RejectionOutcome {
  readonly isReplaced: boolean;
  /** Milliseconds until a refusal replaces a token again; absent where no pause stands. */
  readonly pause?: number;
}

/** A pause that stands now. */
export interface RefusalPause {
  readonly clientId: string;
  /** Absent: the pause holds for all operations. */
  readonly operation?: string;
  /** Steady, milliseconds. */
  readonly until: number;
}

/** Counts refusals and says how long the pause is. */
class Bound {
  readonly #max: number;
  #times: readonly number[] = [];
  #pauses = 0;
  until = 0;

  constructor(max: number) {
    this.#max = max;
  }

  add(now: number): void {
    const isQuiet = now - Math.max(this.until, this.#times.at(-1) ?? 0) > countedFor;
    if (isQuiet) this.#pauses = 0;
    this.#times = [...this.#times.filter((time) => time > now - countedFor), now].slice(-this.#max);
    if (this.#times.length < this.#max) return;
    this.#pauses += 1;
    this.until = now + doubled(this.#pauses, firstPause, maxPause);
  }
}

interface Counted {
  readonly all: Bound;
  readonly byOperation: Map<string, Bound>;
}

export class TokenRefusals {
  readonly #now: () => number;
  /** By grant, then by local client. */
  readonly #counted = new Map<string, Map<string, Counted>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds until a refusal replaces a token again; 0: it does so now. */
  left({ clientId, grantId, operation = '' }: RefusedUse): number {
    const counted = this.#counted.get(grantId)?.get(clientId);
    if (!counted) return 0;
    const own = counted.byOperation.get(keyOf(counted, operation));
    return Math.max(0, counted.all.until - this.#now(), (own?.until ?? 0) - this.#now());
  }

  /**
   * Counts a refusal. `hasWorked`: the server took this token before, so it isn't the operation that is
   * refused; only the bound over all operations counts it.
   */
  add({ clientId, grantId, operation = '' }: RefusedUse, hasWorked: boolean): void {
    const counted = this.#of(grantId, clientId);
    counted.all.add(this.#now());
    if (hasWorked) return;
    const key = keyOf(counted, operation);
    const own = counted.byOperation.get(key) ?? new Bound(maxOfOperation);
    counted.byOperation.set(key, own);
    own.add(this.#now());
  }

  /** The pauses that stand for a grant. */
  pausesOf(grantId: string): RefusalPause[] {
    const now = this.#now();
    return [...(this.#counted.get(grantId) ?? [])].flatMap(([clientId, { all, byOperation }]) => [
      ...(all.until > now ? [{ clientId, until: all.until }] : []),
      ...[...byOperation]
        .filter(([, { until }]) => until > now)
        .map(([operation, { until }]) => ({ clientId, until, ...(operation === '' ? {} : { operation }) })),
    ]);
  }

  /** The person signed in or allowed something: the count starts anew. */
  clear(grantId: string): void {
    this.#counted.delete(grantId);
  }

  #of(grantId: string, clientId: string): Counted {
    const clients = this.#counted.get(grantId) ?? new Map<string, Counted>();
    this.#counted.set(grantId, clients);
    const counted = clients.get(clientId) ?? { all: new Bound(maxOfProgram), byOperation: new Map() };
    clients.set(clientId, counted);
    return counted;
  }
}

/** Operations beyond the bound share the key of requests that name none. */
function keyOf({ byOperation }: Counted, operation: string): string {
  return byOperation.has(operation) || byOperation.size < maxOperations ? operation : '';
}
