/**
 * Access tokens that an MCP server rejected although they should have been valid.
 *
 * Invariants: a rejection replaces the token, so a server that rejects every token could cause endless refreshes. After
 * a few rejections, further ones replace no token for a while. That pause ends automatically, and doubles if the rejections
 * continue. It applies to one app, sign-in and operation, and in total to one app and sign-in. Meanwhile only
 * a request that reports a rejection is refused: all others still get a token that is in memory.
 */
import { doubled } from '../base/backoff.ts';
import type { AppChallenge } from './request.ts';

/** 3 tries in 10 minutes (milliseconds). */
const maxOfOperation = 3;
const countedFor = 600_000;

/** Over all operations. Some servers occasionally revoke tokens early; ten times in ten minutes is no accident. */
const maxOfApp = 10;

/** Milliseconds: a server that restarts is back within a minute; six tries an hour cost little. */
const firstPause = 60_000;
const maxPause = 600_000;

/** Operations counted apart for one app and sign-in; any further operations count as one. */
const maxOperations = 64;

/** Milliseconds. Such a token may have expired before it was checked: requests take time, and servers truncate times. */
export const expiryGrace = 1000;

/** The app that reports a rejection, and the sign-in of the token. */
interface RejectedUse {
  readonly appId: string;
  readonly signInId: string;
  /** The operation that the token was for; absent if the app names none. */
  readonly operation?: string | undefined;
}

export interface Rejection extends Omit<RejectedUse, 'signInId'> {
  readonly token: { readonly tokenId: string } | { readonly accessToken: string };
  /** The MCP server accepted this same token before. */
  readonly hasWorked?: boolean | undefined;
  readonly challenge?: AppChallenge | undefined;
}

/** The result of a rejection: the next request replaces the token, or keeps it. */
export interface RejectionOutcome {
  readonly isReplaced: boolean;
  /** Milliseconds until a rejection replaces a token again; absent without a pause. */
  readonly pause?: number;
}

/**
 * A pause that applies now; `until`: milliseconds, steady. Without an operation it holds for all, or for requests that
 * name none.
 */
interface RejectionPause extends Pick<RejectedUse, 'appId' | 'operation'> {
  readonly until: number;
}

class RejectionLimit {
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

interface RejectionCounts {
  readonly all: RejectionLimit;
  readonly byOperation: Map<string, RejectionLimit>;
}

export class RejectionLimits {
  readonly #now: () => number;
  /** By sign-in, then by app. */
  readonly #counted = new Map<string, Map<string, RejectionCounts>>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds until a rejection replaces a token again; 0: it does so now. */
  left({ appId, signInId, operation = '' }: RejectedUse): number {
    const counted = this.#counted.get(signInId)?.get(appId);
    if (!counted) return 0;
    const own = counted.byOperation.get(keyOf(counted, operation));
    return Math.max(0, counted.all.until - this.#now(), (own?.until ?? 0) - this.#now());
  }

  /** `hasWorked`: the operation isn't the cause, so that only the bound over all operations counts it. */
  add({ appId, signInId, operation = '' }: RejectedUse, hasWorked: boolean): void {
    const counted = this.#of(signInId, appId);
    counted.all.add(this.#now());
    if (hasWorked) return;
    const key = keyOf(counted, operation);
    const own = counted.byOperation.get(key) ?? new RejectionLimit(maxOfOperation);
    counted.byOperation.set(key, own);
    own.add(this.#now());
  }

  pausesOf(signInId: string): RejectionPause[] {
    const now = this.#now();
    return [...(this.#counted.get(signInId) ?? [])].flatMap(([appId, { all, byOperation }]) => [
      ...(all.until > now ? [{ appId, until: all.until }] : []),
      ...[...byOperation]
        .filter(([, { until }]) => until > now)
        .map(([operation, { until }]) => ({ appId, until, operation: operation || undefined })),
    ]);
  }

  /** The user signed in or allowed something: resets the count. */
  clear(signInId: string): void {
    this.#counted.delete(signInId);
  }

  #of(signInId: string, appId: string): RejectionCounts {
    const apps = this.#counted.get(signInId) ?? new Map<string, RejectionCounts>();
    this.#counted.set(signInId, apps);
    const counted = apps.get(appId) ?? { all: new RejectionLimit(maxOfApp), byOperation: new Map() };
    apps.set(appId, counted);
    return counted;
  }
}

/** Operations beyond the bound share the key of requests that name none. */
function keyOf({ byOperation }: RejectionCounts, operation: string): string {
  return byOperation.has(operation) || byOperation.size < maxOperations ? operation : '';
}
