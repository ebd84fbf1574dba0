/**
 * The rules on claims that signed tokens and introspected ones share.
 *
 * Invariant: a token passes only if this server is among its audiences (RFC 8707 §2, RFC 9068 §4), and its time has
 * come and not passed.
 */
import { decodeJwt, type JWTPayload } from 'jose';
import { z } from 'zod';
import { expected, listed } from '../base/listed.ts';
import { Refusal } from '../base/refusal.ts';

/** What a JWT states, proven by nothing yet. Undefined: the token is none. */
export function statedClaims(token: string): JWTPayload | undefined {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}

export const audience = z.union([z.string(), z.array(z.string())]);

/** Seconds since 1970 (RFC 7519 §2, NumericDate). */
export const instant = z.number();

/** RFC 7800 §3.1. A key of any other kind than `jkt` could not be checked here. */
export const confirmation = z.looseObject({ jkt: z.string().optional() });

/** MCP, Token Handling: the server MUST reject tokens whose audience does not include it. */
export function checkAudience(
  aud: z.infer<typeof audience>,
  resource: string,
  others: readonly string[] = [],
): void {
  // URL parsers add a slash to an empty path, and issuers repeat what a client sent: one slash makes no difference.
  const bare = resource.replace(/\/$/, '');
  const accepted = [bare, `${bare}/`, ...others];
  if ([aud].flat().some((one) => accepted.includes(one))) return;
  throw new Refusal('token_wrong_audience', {
    problem: `aud is ${listed(aud)}; expected: ${expected([resource, ...others])}`,
  });
}

/** `iss`: what a token says before anything has proven it, or an introspection of it. */
export function wrongIssuer(iss: string, issuers: readonly string[]): Refusal {
  return new Refusal('token_wrong_issuer', {
    problem: `iss is ${listed(iss || undefined)}; expected: ${expected(issuers)}`,
  });
}

export interface Times {
  readonly exp?: number | undefined;
  readonly nbf?: number | undefined;
  readonly iat?: number | undefined;
}

/** `now` and `tolerance` in seconds. */
export function checkTimes({ exp, nbf, iat }: Times, now: number, tolerance: number): void {
  // RFC 7519 §4.1.4: on or after the expiration time the token MUST NOT be accepted.
  if (exp !== undefined && exp <= now - tolerance) throw new Refusal('token_expired');
  if (nbf !== undefined && nbf > now + tolerance) throw new Refusal('token_not_yet_valid');
  if (iat !== undefined && iat > now + tolerance) throw new Refusal('token_not_yet_valid');
}

/** The thumbprint, if the token is bound to a key by it. Throws a refusal for a token that is bound in another way. */
export function thumbprintOf(cnf: z.infer<typeof confirmation> | undefined): { keyThumbprint?: string } {
  if (cnf === undefined) return {};
  // A token bound to a certificate is refused: without that check a stolen one would pass.
  if (cnf.jkt === undefined) throw new Refusal('token_bound');
  return { keyThumbprint: cnf.jkt };
}
