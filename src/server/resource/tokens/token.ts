/**
 * What a check of a token gives, and what it needs.
 *
 * Invariant: a `VerifiedToken` is made only of a token that passed every check, and holds the token itself nowhere. It
 * is kept for later requests, so no handler can change it.
 */
import { KeyturnError, reasonOf } from '../../../base/errors.ts';
import type { Http } from '../../../oauth/base/http.ts';

export interface VerifiedToken {
  readonly issuer: string;
  /** The account, or the client where no user is behind the token. */
  readonly subject: string;
  /** Absent if the token doesn't name its client. */
  readonly clientId?: string;
  readonly scopes: readonly string[];
  /** Seconds since 1970. */
  readonly expiresAt: number;
  /** SHA-256 thumbprint of the key that the token is bound to (RFC 9449 §6.1). */
  readonly keyThumbprint?: string;
  /** All claims of the token, or what introspection said of it. */
  readonly claims: Readonly<Record<string, unknown>>;
}

export interface TokenCheck {
  /** `digest` is the token's `sha256`. Rejects with a Refusal. */
  check(token: string, digest: string): Promise<VerifiedToken>;
}

/** Something that the check of tokens met and the operator should know. */
export interface Outage {
  readonly kind: 'outage';
  readonly issuer: string;
  readonly what: 'keys' | 'introspection';
  /** Reason and message of the failure, or what is wrong with the answer. */
  readonly problem: string;
  /** True: the last good keys serve meanwhile. */
  readonly isBridged: boolean;
}

/** A failure as an `Outage` says it. The message of another error could hold a secret of the request. */
export function problemIn(error: unknown): string {
  return error instanceof KeyturnError ? `${error.reason}: ${error.message}` : reasonOf(error);
}

export interface TokenContext {
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly http: Http;
  readonly onOutage: (outage: Outage) => void;
}

/** How tokens are checked: `jwt(…)` or `introspection(…)`. */
export interface TokenKind {
  /** Called once, by `protectedServer`. */
  open(context: TokenContext): TokenCheck;
}

/** The token with all that it holds frozen. A loop, since an answer of introspection may be nested as deep as it likes. */
export function frozen(token: VerifiedToken): VerifiedToken {
  const waiting: unknown[] = [token];
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    Object.freeze(value);
    for (const held of Object.values(value)) if (typeof held === 'object') waiting.push(held);
  }
  return token;
}

/** Claims without any that repeats the token: some servers use an opaque token as its own `jti`. */
export function withoutToken(
  claims: Readonly<Record<string, unknown>>,
  token: string,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== token));
}
