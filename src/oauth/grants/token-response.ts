/**
 * Reads and checks the response of the token endpoint.
 *
 * Invariant: a `TokenResponse` has a token that fits into a header: a Bearer token, or, after a request with a proof, one
 * that is bound to the key of the proof. If the token shows its resource, it is the requested one, unless an exception
 * allows another.
 */
import { z } from 'zod';
import { quoted, RuleRefusal } from '../../base/errors.ts';
import { checkAudience, type Audience, type ExpectedAudience } from './audience.ts';
import type { TokenServer } from '../discovery/authorization-server.ts';
import type { OAuthClient } from '../client/client-authentication.ts';
import type { DpopKey } from '../client/dpop-key.ts';
import type { Http, HttpReply } from '../base/http.ts';
import { jwtPart } from '../base/json-object.ts';
import { responseFields, shownText } from '../base/oauth-error.ts';
import type { Exceptions } from '../base/exceptions.ts';
import { formatScope, maxScopeLength, readGranted } from '../base/scope.ts';
import { serverTime } from '../base/server-clock.ts';

export interface TokenResponse {
  readonly accessToken: string;
  readonly tokenType: 'Bearer' | 'DPoP';
  /** The key that the token is bound to; absent for a Bearer token. */
  readonly dpopKey?: DpopKey;
  /** When the request was sent, so that a slow response doesn't lengthen the lifetime: milliseconds, steady. */
  readonly issuedAt: number;
  /** Milliseconds, steady. The earliest end that the response or the token states; Infinity if neither states one. */
  readonly expiresAt: number;
  /** Absent if the response had none. After a refresh the one that was sent then stays valid. */
  readonly refreshToken?: string;
  /** The granted scopes; the requested ones if the server doesn't state any (RFC 6749 §5.1). */
  readonly scope: readonly string[];
  /** False if the server stated no scope, so that `scope` repeats the request. */
  readonly scopeStated: boolean;
  /** What `aud` of a JWT names; absent for an opaque token. */
  readonly audience?: Audience;
  /** From a validated ID token, or from the identity assertion that was redeemed. */
  readonly subject?: Subject;
  /** That ID token. A secret: it is in memory only, and goes to its own issuer only (id-jag.ts). */
  readonly idToken?: string;
}

export interface Subject {
  readonly issuer: string;
  readonly subject: string;
  /** The user's address or user name at the server; absent if the ID token names none. */
  readonly loginHint?: string;
}

/** One year, in seconds. With a larger number of a server, the time of expiry would not be exact. */
const maxLifetime = 365 * 24 * 60 * 60;

/** Characters (OpenID Connect Core §2, `sub`). */
const maxSubjectLength = 255;

/**
 * RFC 6749 §5.1. Some servers write null or "" for "none". Except for access_token, a field of a wrong type doesn't
 * make the response unreadable, so that a rotated refresh token in it isn't lost. `processTokenFields` checks the
 * fields.
 */
const optionalText = z.string().nullish().catch(undefined);
const answerSchema = z.object({
  access_token: z.string().min(1),
  // Absent means Bearer; a wrong type doesn't.
  token_type: z.string().nullish().catch('unreadable'),
  /** Of a token exchange (RFC 8693 §2.2.1). */
  issued_token_type: optionalText,
  expires_in: z.unknown().optional(),
  /** Some servers write the instant too, or only that: seconds since 1970, or a date. */
  expires_at: z.unknown().optional(),
  expires_on: z.unknown().optional(),
  refresh_token: optionalText,
  scope: z.unknown().optional(),
  id_token: optionalText,
});

export interface TokenFields extends z.infer<typeof answerSchema> {
  /** The secrets of the request and of this response. No message may repeat them. */
  readonly secrets: readonly string[];
}

/** The fields; undefined if the body is no token response. */
export function readTokenFields(reply: HttpReply): TokenFields | undefined {
  const fields = answerSchema.safeParse(responseFields(reply)).data;
  if (fields === undefined) return undefined;
  const tokens = [fields.access_token, fields.refresh_token, fields.id_token].filter(
    (token) => typeof token === 'string',
  );
  return { ...fields, secrets: [...(reply.secretsSent ?? []), ...tokens] };
}

export interface GrantRequest extends OAuthClient {
  readonly resource: string;
  readonly scope?: readonly string[] | undefined;
  /** What the user waived for this server. */
  readonly exceptions?: Exceptions | undefined;
  /** The key that the tokens should be bound to. */
  readonly dpopKey?: DpopKey | undefined;
}

/** A request that was sent, to check its response. For a refresh without scopes, `scope` has those granted before. */
export interface SentRequest extends GrantRequest, ExpectedAudience {
  /** Milliseconds, steady. */
  readonly requestedAt: number;
  readonly subject?: Subject;
  readonly idToken?: string;
}

type TokenTimes = Pick<Http, 'allowInsecureLoopback' | 'now' | 'wall' | 'serverClocks'>;

/** Checks one response, in order. Throws token_invalid and audience_mismatch. */
export function processTokenFields(
  fields: TokenFields,
  expected: SentRequest,
  http: TokenTimes,
): TokenResponse {
  const { dpopKey, server, requestedAt, subject, idToken } = expected;
  requireType(fields, expected);
  requireHeaderSafe(fields, server);
  const claims = jwtClaims(fields.access_token);
  if (dpopKey) requireOwnKey(claims, dpopKey, server);
  const audience = claims && checkAudience(claims.aud, { ...expected, secrets: fields.secrets }, http);
  const stated = statedScope(fields, claims, expected);
  const scope = stated ?? expected.scope ?? [];
  requireListable(scope, expected);
  const lifetime = lifetimeOf(fields, claims, expected, http);
  return {
    accessToken: fields.access_token,
    tokenType: dpopKey ? 'DPoP' : 'Bearer',
    dpopKey,
    issuedAt: requestedAt,
    expiresAt: requestedAt + lifetime * 1000,
    refreshToken: fields.refresh_token || undefined,
    scope,
    scopeStated: stated !== undefined,
    audience,
    subject,
    idToken,
  };
}

/**
 * RFC 6749 §7.1: a token of an unknown type MUST NOT be used. §5.1: the type is case-insensitive, and REQUIRED, but some
 * servers leave it out: without a proof that means Bearer. RFC 9449 §5: a server that doesn't bind the token says Bearer.
 * After a proof that is refused, so that no server and nobody in between can take the key away again.
 */
function requireType(fields: TokenFields, { server, dpopKey }: GrantRequest): void {
  const wanted = dpopKey ? 'DPoP' : 'Bearer';
  const type = fields.token_type?.trim() || (dpopKey ? '' : wanted);
  if (type.toLowerCase() === wanted.toLowerCase()) return;
  const rule = dpopKey ? 'RFC 9449 §5' : 'RFC 6749 §7.1';
  throw unusable(server, `its type is ${shownText(type, fields.secrets)}, not ${wanted}`, rule);
}

/** RFC 9449 §6.1: a token that names its key must name ours. With another key's token no proof of ours would pass. */
function requireOwnKey(claims: Claims | undefined, { thumbprint }: DpopKey, server: TokenServer): void {
  const jkt = claims?.cnf?.jkt;
  if (jkt === undefined || jkt === thumbprint) return;
  throw unusable(server, 'it is bound to another key than ours', 'RFC 9449 §6.1');
}

/** RFC 6750 §2.1: a token with other characters could end the Authorization header and add another one. */
function requireHeaderSafe(fields: TokenFields, server: TokenServer): void {
  if (/^[\x21-\x7e]+$/.test(fields.access_token)) return;
  throw unusable(server, 'it has characters that no header can carry', 'RFC 6750 §2.1');
}

/** With more characters, a list could not be read, nor any other sign-in in it. */
function requireListable(scope: readonly string[], { server, subject }: SentRequest): void {
  const tooLong = (what: string, most: number, rule: string): RuleRefusal =>
    unusable(server, `its ${what} more than ${most} characters`, rule);
  if (formatScope(scope).length > maxScopeLength)
    throw tooLong('scopes have', maxScopeLength, 'A list shows all scopes of a sign-in');
  if ((subject?.subject.length ?? 0) > maxSubjectLength)
    throw tooLong('subject has', maxSubjectLength, 'OpenID Connect Core §2 (sub)');
}

/** Whole seconds; undefined for none, or a negative one, as for a token without an end. Some servers write a string. */
function statedLifetime(fields: TokenFields, server: TokenServer): number | undefined {
  const stated = fields.expires_in;
  if (stated === undefined || stated === null || stated === '') return undefined;
  const seconds = typeof stated === 'number' ? stated : decimal(stated);
  if (seconds < 0) return undefined;
  if (Number.isNaN(seconds)) {
    const text = typeof stated === 'string' ? stated : JSON.stringify(stated);
    const shown = shownText(text, fields.secrets);
    throw unusable(server, `its lifetime is ${shown}`, 'RFC 6749 §5.1 (expires_in)');
  }
  return Math.floor(Math.min(seconds, maxLifetime));
}

/** Seconds until the earliest end in the response or the JWT (RFC 7519 §4.1.4). Infinity: until it is refused. */
function lifetimeOf(
  fields: TokenFields,
  claims: Claims | undefined,
  { server, requestedAt }: SentRequest,
  http: TokenTimes,
): number {
  // Instants are the server's, so its own clock decides how far away they are.
  const now = Math.floor((serverTime(http, server) - http.now() + requestedAt) / 1000);
  const until = (instant: unknown, start: number): number => {
    const seconds = typeof instant === 'number' ? instant : (dateSeconds(instant) ?? decimal(instant));
    // Some servers count milliseconds.
    return Math.floor(seconds > maxSeconds ? seconds / 1000 : seconds) - start;
  };
  const iat = until(claims?.iat, 0);
  const ends = [statedLifetime(fields, server), until(fields.expires_at ?? fields.expires_on, now)];
  const byClaim = until(claims?.exp, now);
  // Ended before it came: the clocks differ more than the server's answers show. Then its own two instants decide.
  ends.push(byClaim > 0 ? byClaim : until(claims?.exp, iat));
  const known = ends.filter((end, at) => end !== undefined && !Number.isNaN(end) && (at === 0 || end > 0));
  return Math.min(...known.map((end) => Math.min(end ?? Infinity, maxLifetime)), Infinity);
}

/** Seconds since 1970, in the year 5138: a larger number counts milliseconds. */
const maxSeconds = 1e11;

/** An ISO 8601 date and time, in seconds since 1970. */
function dateSeconds(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) / 1000 : undefined;
}

/** Number() itself would accept "", "0x10" and "Infinity", and turn true and [] into numbers. */
function decimal(value: unknown): number {
  return typeof value === 'string' && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : Number.NaN;
}

/** Else the one in the token (RFC 9068 §2.2.3). An unreadable one is refused: as absent it would mean all that was asked. */
function statedScope(
  fields: TokenFields,
  claims: Claims | undefined,
  { server, scope = [] }: SentRequest,
): readonly string[] | undefined {
  const stated = scopeText(fields.scope);
  if (stated === undefined) throw unusable(server, 'its scope is not a text', 'RFC 6749 §5.1 (scope)');
  const text = stated || scopeText(claims?.scope);
  return text ? readGranted(text, scope) : undefined;
}

/** The scope as text; '' if none is stated; undefined if it is unreadable. Some servers write an array of strings. */
function scopeText(value: unknown): string | undefined {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  const isList = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
  return isList ? value.join(' ') : undefined;
}

const claimsSchema = z.object({
  aud: z.unknown().optional(),
  scope: z.unknown().optional(),
  exp: z.unknown().optional(),
  iat: z.unknown().optional(),
  cnf: z.object({ jkt: z.unknown().optional() }).optional().catch(undefined),
});

type Claims = z.infer<typeof claimsSchema>;

/** The claims of a signed JWT, whose signature isn't checked; undefined for an opaque or encrypted token. */
function jwtClaims(token: string): Claims | undefined {
  const [header, payload, ...rest] = token.split('.');
  if (header === undefined || payload === undefined || rest.length !== 1) return undefined;
  if (jwtPart(header)?.['alg'] === undefined) return undefined;
  return claimsSchema.safeParse(jwtPart(payload)).data;
}

/** True for a JWS or a JWE: an MCP server that checks it by itself accepts it until it expires, even if it is revoked. */
export function isSelfContained(token: string): boolean {
  const parts = token.split('.');
  if (parts.length !== 3 && parts.length !== 5) return false;
  return jwtPart(parts[0])?.['alg'] !== undefined;
}

export function unusable(
  { issuer }: Pick<TokenServer, 'issuer'>,
  problem: string,
  rule: string,
): RuleRefusal {
  return new RuleRefusal(
    'token_invalid',
    `The token that ${quoted(issuer)} issued can't be used: ${problem}.`,
    {
      rule,
      hint: 'The authorization server is set up wrongly. Tell its operator.',
    },
  );
}
