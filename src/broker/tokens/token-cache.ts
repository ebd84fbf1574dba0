/**
 * Access tokens in memory, by sign-in and scope set.
 *
 * Invariant: an access token is here only while its sign-in may use it. It is removed when the sign-in ends or the
 * MCP server rejects it. A sign-in has at most eight scope sets (invariant 10, dev/internals.md).
 */
import { randomBytes } from 'node:crypto';
import { toWall, type ClockReadings } from '../../base/clock.ts';
import { DpopKey, type DpopJwk } from '../../oauth/client/dpop-key.ts';

export interface AccessToken {
  /** Names the token on the wire without showing it. */
  readonly tokenId: string;
  readonly accessToken: string;
  /** Milliseconds, steady. */
  readonly issuedAt: number;
  /** Infinity: nobody knows. Then it is good until its server rejects it. */
  readonly expiresAt: number;
  /** It is refreshed when no more than this is left of it, in milliseconds. */
  readonly margin: number;
  /** As granted. */
  readonly scope: readonly string[];
  /** The key that it is bound to; absent for a Bearer token. */
  readonly dpopKey?: DpopKey;
  /** The ID token that came with it. A secret for its own issuer only (sign-in/unattended/company-session.ts). */
  readonly idToken?: string;
  /** What the audit log calls it; absent until the log has the home's root key. */
  fingerprint?: string | undefined;
  /** Ids of the apps that received it. */
  readonly handedTo: Set<string>;
}

type IssuedToken = Omit<AccessToken, 'tokenId' | 'handedTo' | 'margin'>;

/** More sets mean that an app tries many scopes; the oldest set is removed. */
const maxSets = 8;
/** Refresh when less than this is left … in milliseconds. */
const maxMargin = 300_000;
/** … or less than this part of the lifetime, whichever is less: a 30-second token stays usable. */
const marginPart = 1 / 5;

/** The random part of the margin, so that tokens of the same moment aren't all refreshed at once. */
const marginJitter = 0.1;

/** Milliseconds. A younger token satisfies any minimum, so that no caller sets off a refresh with each request … */
const maxJustIssued = 10_000;
/** … or than this part of its lifetime, whichever is less: "just" is little of a short life. */
const justIssuedPart = 1 / 5;

/** The key of the token with all the sign-in's scopes: a space, which no set of scopes yields. */
export const fullScope = ' ';

/** The key of a scope set: order and repetition don't matter. */
export function scopeKey(scope: readonly string[] | undefined): string {
  return scope === undefined ? fullScope : [...new Set(scope)].toSorted().join(' ');
}

type Times = Pick<AccessToken, 'issuedAt' | 'expiresAt'>;

/** Milliseconds, for a token of unknown lifetime that a refresh can replace: most servers end theirs after an hour. */
const assumedLifetime = 3_600_000;

/** When a refresh is due at the latest: the end of the token, or the end that it probably has. */
export const dueAt = ({ issuedAt, expiresAt }: Times): number =>
  Number.isFinite(expiresAt) ? expiresAt : issuedAt + assumedLifetime;

const lifetimeOf = (token: Times): number => token.expiresAt - token.issuedAt;

const justIssued = (token: Times): number => Math.min(maxJustIssued, lifetimeOf(token) * justIssuedPart);

/** The margin of a token (ms), never less than the design's; `chance` from 0 to 1. */
export function marginOf(token: Times, chance: number): number {
  return Math.min(maxMargin, lifetimeOf(token) * marginPart) * (1 + marginJitter * chance);
}

/** True while the token needs no refresh: enough is left for its margin and for what the caller asks (ms). */
export function isFresh(
  token: Times & Pick<AccessToken, 'margin'>,
  now: number,
  minimumValidity = 0,
): boolean {
  const left = token.expiresAt - now;
  return (
    dueAt(token) - now > token.margin && (left > minimumValidity || now - token.issuedAt < justIssued(token))
  );
}

/** A minimum (ms) beyond the whole lifetime is met by no other token either, so that it is no reason for a sign-in. */
export function isLongEnough(token: Times, now: number, minimumValidity = 0): boolean {
  const reachable = lifetimeOf(token) - justIssued(token);
  return token.expiresAt - now > (minimumValidity < reachable ? minimumValidity : 0);
}

/** True while the MCP server should still take it, for a caller that can't have a fresher one. */
export function isAlive(token: Times, now: number, minimumValidity = 0): boolean {
  return token.expiresAt - now > minimumValidity;
}

/** When the last access token expires, by the wall clock. Earlier tokens may outlive the new one. */
export function liveUntil(
  clock: ClockReadings,
  signIn: { readonly liveUntil?: number | undefined },
  { expiresAt }: Pick<AccessToken, 'expiresAt'>,
): number | undefined {
  if (!Number.isFinite(expiresAt)) return signIn.liveUntil;
  return Math.max(signIn.liveUntil ?? 0, toWall(clock, expiresAt));
}

export class TokenCache {
  readonly #signIns = new Map<string, Map<string, AccessToken>>();
  /** By sign-in, the last access token that its MCP server rejected: it must not come back from the vault. */
  readonly #rejected = new Map<string, string>();

  /** By sign-in that ended, the tokens that were in use: nobody gets them any more, the server is yet to be told. */
  readonly #retired = new Map<string, AccessToken[]>();
  readonly #chance: () => number;

  /** `chance` gives numbers from 0 to 1. */
  constructor(chance: () => number = Math.random) {
    this.#chance = chance;
  }

  get(signInId: string, key: string): AccessToken | undefined {
    return this.#signIns.get(signInId)?.get(key);
  }

  put(signInId: string, key: string, fields: IssuedToken): AccessToken {
    const sets = this.#signIns.get(signInId) ?? new Map<string, AccessToken>();
    this.#signIns.set(signInId, sets);
    const token = {
      ...fields,
      margin: marginOf(fields, this.#chance()),
      tokenId: randomBytes(8).toString('hex'),
      handedTo: new Set<string>(),
    };
    sets.delete(key);
    sets.set(key, token);
    const [oldest] = sets.keys();
    if (sets.size > maxSets && oldest !== undefined) sets.delete(oldest);
    return token;
  }

  /** The sign-in's key, with the nonce that its server gave last, if one of its tokens is here. */
  dpopKey(signInId: string, kept: DpopJwk): DpopKey {
    const key = new DpopKey(kept);
    const used = this.of(signInId).map((token) => token.dpopKey);
    return used.find((one) => one?.thumbprint === key.thumbprint) ?? key;
  }

  byId(tokenId: string): { readonly signInId: string; readonly token: AccessToken } | undefined {
    for (const [signInId, sets] of this.#signIns) {
      for (const token of sets.values()) if (token.tokenId === tokenId) return { signInId, token };
    }
    return undefined;
  }

  signInIds(): string[] {
    return [...this.#signIns.keys()];
  }

  of(signInId: string): AccessToken[] {
    return [...(this.#signIns.get(signInId)?.values() ?? [])];
  }

  /** True while this token is still here: its sign-in has not ended since the caller took it. */
  holds(signInId: string, token: AccessToken): boolean {
    return this.of(signInId).includes(token);
  }

  /** The MCP server rejected this token: removes it, for every scope set. */
  reject(signInId: string, rejected: AccessToken): void {
    const sets = this.#signIns.get(signInId);
    for (const [key, token] of sets ?? []) if (token === rejected) sets?.delete(key);
    this.#rejected.set(signInId, rejected.accessToken);
  }

  isRejected(signInId: string, accessToken: string): boolean {
    return this.#rejected.get(signInId) === accessToken;
  }

  /** The sign-in ended: its tokens are kept only until the server has answered their revocation, or the vault has them. */
  retire(signInId: string): void {
    const retired = [...this.retired(signInId), ...this.of(signInId)];
    if (retired.length > 0) this.#retired.set(signInId, retired);
    this.dropSignIn(signInId);
  }

  retired(signInId: string): readonly AccessToken[] {
    return this.#retired.get(signInId) ?? [];
  }

  forgetRetired(signInId: string): void {
    this.#retired.delete(signInId);
  }

  /** Forgets every token, the rejected and the retired ones too: the vault is locked. */
  clear(): void {
    this.#signIns.clear();
    this.#rejected.clear();
    this.#retired.clear();
  }

  dropSignIn(signInId: string): void {
    this.#signIns.delete(signInId);
    this.#rejected.delete(signInId);
  }
}
