/**
 * The response of the token endpoint: its fields, and the checks of it.
 *
 * Invariant: a `TokenResponse` holds a Bearer token that fits into a header. If the token shows its resource, it is the
 * requested one, unless an override allows another.
 */
import { z } from 'zod';

import { quoted, RuleRefusal } from '../../base/errors.ts';
import { checkAudience, nonResourceAudiences } from './audience.ts';
import type { Audience, ExpectedAudience } from './audience.ts';
import type { OAuthClient } from '../client/client-authentication.ts';
import type { Http, HttpReply } from '../base/http.ts';
import { parseJsonObject } from '../base/json-object.ts';
import { responseFields, shownText } from '../base/oauth-error.ts';
import type { Overrides } from '../base/overrides.ts';
import { readGranted } from '../base/scope.ts';

export interface TokenResponse {
  readonly accessToken: string;
  readonly tokenType: 'Bearer';
  /** Milliseconds, steady: when the request was sent, so that a slow answer lives no longer. */
  readonly issuedAt: number;
  /** Milliseconds, steady. */
  readonly expiresAt: number;
  /** Seconds from `issuedAt`. */
  readonly expiresIn: number;
  /** False: the server gave no lifetime, and `defaultLifetime` stands in. */
  readonly lifetimeStated: boolean;
  /** Absent: none came; after a refresh the one that was used stays valid. */
  readonly refreshToken?: string;
  /** As granted; what was requested, if the server says nothing else (RFC 6749 §5.1). */
  readonly scope: readonly string[];
  /** False: the server didn't say, so that `scope` repeats the request. */
  readonly scopeStated: boolean;
  /** What a JWT says of the resource it is for; absent: an opaque token, which doesn't show it. */
  readonly audience?: Audience;
  /** From a validated ID token. */
  readonly subject?: Subject;
}

/** Who signed in. */
export interface Subject {
  readonly issuer: string;
  readonly subject: string;
  /** The address or user name that the server knows the person by; absent where it told none. */
  readonly loginHint?: string;
}

/** One hour, in seconds, for a server that gives no lifetime: what most servers give. */
export const defaultLifetime = 3600;

/** One year, in seconds: keeps the sum with a time exact, however large the number of the server is. */
const maxLifetime = 365 * 24 * 60 * 60;

/**
 * RFC 6749 §5.1. Some servers write null or "" where they mean "none". A field of a wrong type makes
 * the answer unusable, but not unreadable: a rotated refresh token in it must not be lost.
 */
const optionalText = z.string().nullish().catch(undefined);
const answerSchema = z.object({
  access_token: z.string().min(1),
  token_type: optionalText,
  /** RFC 8693 §2.2.1, of a token exchange. */
  issued_token_type: optionalText,
  expires_in: z.unknown().optional(),
  refresh_token: optionalText,
  scope: z.unknown().optional(),
  id_token: optionalText,
});

export interface TokenFields extends z.infer<typeof answerSchema> {
  /** Secrets of the request and of this answer: no message repeats them, wherever the server wrote them. */
  readonly secrets: readonly string[];
}

/** The fields, if the body is a token answer at all. */
export function readTokenFields(reply: HttpReply): TokenFields | undefined {
  const fields = answerSchema.safeParse(responseFields(reply)).data;
  if (fields === undefined) return undefined;
  const tokens = [fields.access_token, fields.refresh_token, fields.id_token].filter(
    (token) => typeof token === 'string',
  );
  return { ...fields, secrets: [...(reply.secretsSent ?? []), ...tokens] };
}

export interface ExpectedTokens extends ExpectedAudience {
  /** Requested, or for a refresh without scopes, granted before. */
  readonly scope: readonly string[];
  /** Milliseconds, steady. */
  readonly requestedAt: number;
  readonly subject?: TokenResponse['subject'];
}

/** What was asked for, and as which client. */
interface ForResource extends Pick<OAuthClient, 'server' | 'registration'> {
  readonly resource: string;
  readonly scope?: readonly string[] | undefined;
  readonly overrides?: Overrides | undefined;
}

/** What an answer to this request may be. */
export function expectedTokens(
  { server, registration, resource, scope = [], overrides }: ForResource,
  requestedAt: number,
): ExpectedTokens {
  return {
    issuer: server.issuer,
    resource,
    nonResourceAudiences: nonResourceAudiences({ server, registration }),
    ...(overrides === undefined ? {} : { overrides }),
    scope,
    requestedAt,
  };
}

/** The checks of one answer, in order. Throws token_invalid and audience_mismatch. */
export function processTokenFields(
  fields: TokenFields,
  expected: ExpectedTokens,
  policy: Pick<Http, 'allowInsecureLoopback'>,
): TokenResponse {
  requireBearer(fields, expected);
  requireHeaderSafe(fields, expected);
  const claims = jwtClaims(fields.access_token);
  const audience = claims && checkAudience(claims.aud, { ...expected, secrets: fields.secrets }, policy);
  const lifetime = statedLifetime(fields, expected);
  const scope = statedScope(fields, claims, expected);
  const expiresIn = lifetime ?? defaultLifetime;
  return {
    accessToken: fields.access_token,
    tokenType: 'Bearer',
    issuedAt: expected.requestedAt,
    expiresAt: expected.requestedAt + expiresIn * 1000,
    expiresIn,
    lifetimeStated: lifetime !== undefined,
    ...(fields.refresh_token ? { refreshToken: fields.refresh_token } : {}),
    scope: scope ?? expected.scope,
    scopeStated: scope !== undefined,
    ...(audience === undefined ? {} : { audience }),
    ...(expected.subject === undefined ? {} : { subject: expected.subject }),
  };
}

/** As `processTokenFields`, where the next token comes from a new request: a refresh token that comes all the same is not kept. */
export function processAccessToken(...answer: Parameters<typeof processTokenFields>): TokenResponse {
  const { refreshToken: _unwanted, ...rest } = processTokenFields(...answer);
  return rest;
}

/** RFC 6749 §7.1: a token of an unknown type MUST NOT be used. §5.1: the type is case-insensitive. */
function requireBearer(fields: TokenFields, expected: ExpectedTokens): void {
  const type = fields.token_type ?? '';
  if (type.toLowerCase() === 'bearer') return;
  throw unusable(expected, `its type is ${shownText(type, fields.secrets)}, not Bearer`, 'RFC 6749 §7.1');
}

/** RFC 6750 §2.1: what can't stand in the Authorization header could end it early. */
function requireHeaderSafe(fields: TokenFields, expected: ExpectedTokens): void {
  if (/^[\x21-\x7e]+$/.test(fields.access_token)) return;
  throw unusable(expected, 'it has characters that no header can carry', 'RFC 6750 §2.1');
}

/** Whole seconds; undefined if the server gave none. A number as a string is accepted, as servers send it. */
export function statedLifetime(
  fields: TokenFields,
  expected: Pick<ExpectedTokens, 'issuer'>,
): number | undefined {
  const stated = fields.expires_in;
  if (stated === undefined || stated === null || stated === '') return undefined;
  const seconds = typeof stated === 'number' ? stated : decimal(stated);
  if (Number.isNaN(seconds) || seconds < 0) {
    const shown = typeof stated === 'string' ? stated : JSON.stringify(stated);
    throw unusable(
      expected,
      `its lifetime is ${shownText(shown, fields.secrets)}`,
      'RFC 6749 §5.1 (expires_in)',
    );
  }
  return Math.floor(Math.min(seconds, maxLifetime));
}

/** Number() alone would read "", "0x10" and "Infinity", and turn true and [] into numbers. */
function decimal(value: unknown): number {
  return typeof value === 'string' && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : Number.NaN;
}

/**
 * The answer's own word, else the token's (RFC 9068 §2.2.3). What can't be read is refused: taken for
 * absent it would mean all that was asked for.
 */
function statedScope(
  fields: TokenFields,
  claims: Claims | undefined,
  expected: ExpectedTokens,
): readonly string[] | undefined {
  const stated = scopeText(fields.scope);
  if (stated === undefined) throw unusable(expected, 'its scope is not a text', 'RFC 6749 §5.1 (scope)');
  const text = stated || scopeText(claims?.scope);
  return text ? readGranted(text, expected.scope) : undefined;
}

/** '' where nothing is stated. Some servers write a list of texts in place of a text. */
function scopeText(value: unknown): string | undefined {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  const isList = Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string');
  return isList ? value.join(' ') : undefined;
}

const claimsSchema = z.object({
  aud: z.unknown().optional(),
  scope: z.unknown().optional(),
});

type Claims = z.infer<typeof claimsSchema>;

/** The claims of a signed JWT; undefined for an opaque or encrypted token. Nothing is trusted for its signature. */
function jwtClaims(token: string): Claims | undefined {
  const [header, payload, ...rest] = token.split('.');
  if (header === undefined || payload === undefined || rest.length !== 1) return undefined;
  if (parseJsonObject(decoded(header))?.['alg'] === undefined) return undefined;
  return claimsSchema.safeParse(parseJsonObject(decoded(payload))).data;
}

/**
 * True for a token that carries its own validity, as a JWS or a JWE: a protected server that checks it by
 * itself takes it until it expires, even if the authorization server has revoked it meanwhile.
 */
export function isSelfContained(token: string): boolean {
  const parts = token.split('.');
  if (parts.length !== 3 && parts.length !== 5) return false;
  return parseJsonObject(decoded(parts[0] ?? ''))?.['alg'] !== undefined;
}

function decoded(part: string): string {
  return Buffer.from(part, 'base64url').toString();
}

export function unusable(
  expected: Pick<ExpectedTokens, 'issuer'>,
  problem: string,
  rule: string,
): RuleRefusal {
  return new RuleRefusal(
    'token_invalid',
    `The token that ${quoted(expected.issuer)} issued can't be used: ${problem}.`,
    {
      rule,
      hint: 'The authorization server is set up wrongly. Tell its operator.',
    },
  );
}
