/**
 * What an app sends and gets about tokens.
 *
 * `resource` has two meanings on the wire. In a request, in a permission and in a question it is the endpoint: the
 * URL of the MCP server as the user knows it. In a token, a sign-in and a receipt it is the resource identifier
 * that the server named (RFC 9728) and that the token was asked for with (RFC 8707).
 *
 * Invariant: an answer is used only after a guard here has passed it. A test compares the guards with the schemas of
 * protocol/. No schema library: `keyturn token` loads this file, and its start has to be quick.
 */
import { maxLength } from './limits.ts';
import {
  headerPattern,
  isCount,
  isId,
  isObject,
  isText,
  keyValuePattern,
  proofPattern,
  schemePattern,
  tokenPattern,
} from './values.ts';

/** What an MCP server answered; a hint to the broker, never an order. */
export interface Challenge {
  readonly status: 401 | 403;
  readonly wwwAuthenticate?: string;
}

/** What a request may be answered with: an access token, or the API key that the user set for the endpoint. */
export type CredentialKind = 'token' | 'apiKey';

/** `minimumValidity` and `timeout` in seconds. */
export interface TokenGetParams {
  readonly resource: string;
  readonly scope?: string;
  readonly account?: string;
  readonly minimumValidity?: number;
  readonly challenge?: Challenge;
  readonly operation?: string;
  readonly interaction?: 'never' | 'allow';
  readonly timeout?: number;
  /** When `timeout` is over, the broker goes on without you, for ten minutes: ask again for what came of it. */
  readonly detached?: boolean;
}

/** The kinds that the app can use. If both are named, the endpoint's API key is the answer where it has one. */
export interface CredentialGetParams extends TokenGetParams {
  readonly kinds: readonly [CredentialKind, ...CredentialKind[]];
}

/** An API key. It has no end that Keyturn knows of, and belongs in this header only, at `resource` only. */
export interface ApiKeyResult {
  readonly kind: 'apiKey';
  readonly header: string;
  /** Comes before the key in `value`; absent: `value` is only the key. */
  readonly scheme?: string;
  /** The whole value of the header. */
  readonly value: string;
  /** The endpoint that the key is for. */
  readonly resource: string;
  readonly apiKeyId: string;
}

/**
 * `expires_at`: seconds since 1970. `expires_in`: seconds from the moment of the answer. Both are absent if the server
 * stated no lifetime.
 */
export interface TokenResult {
  readonly access_token: string;
  readonly token_type: string;
  readonly expires_at?: number | undefined;
  readonly expires_in?: number | undefined;
  readonly scope: string;
  readonly resource: string;
  readonly account: string;
  readonly issuer: string;
  readonly tokenId: string;
}

/** RFC 9449 §7.1: the token is bound to a key of the broker, and is worth nothing without a proof for each request. */
export function isBound({ token_type: type }: Pick<TokenResult, 'token_type'>): boolean {
  return type.toLowerCase() === 'dpop';
}

/** One request that an app is about to send with a token whose `token_type` is `DPoP`. */
export interface TokenProveParams {
  readonly tokenId: string;
  readonly method: string;
  /** Query and fragment don't matter, and may be left out. */
  readonly url: string;
  /** The last DPoP-Nonce of the MCP server (RFC 9449 §9). */
  readonly nonce?: string;
}

/** `proof`: the value of the DPoP header, for this one request. */
export interface TokenProveResult {
  readonly proof: string;
}

/** Names what was rejected by exactly one of `tokenId`, `access_token` and `apiKeyId`. */
export interface TokenRejectParams {
  readonly tokenId?: string;
  /** An API key. It is marked for the user, and nothing replaces it. */
  readonly apiKeyId?: string;
  readonly access_token?: string;
  readonly status: number;
  readonly challenge?: Challenge;
  /** What the app was about to do, e.g. `POST /reports`: rejections are counted for each. */
  readonly operation?: string;
  /** The MCP server took this very token before: then the rejection says less about the token. */
  readonly worked?: boolean;
}

/**
 * `rejected` true: the next `token.get` brings another token. False: the rejected token was no longer current; or,
 * with `retryAfter` (seconds), too many tokens were rejected, and none is replaced until then.
 */
export interface TokenRejectResult {
  readonly rejected: boolean;
  readonly retryAfter?: number;
}

export function isTokenResult(value: unknown): value is TokenResult {
  return (
    isObject(value) &&
    isText(value['access_token'], maxLength.token) &&
    tokenPattern.test(value['access_token']) &&
    isText(value['token_type'], maxLength.id) &&
    isCountIfThere(value['expires_at']) &&
    isCountIfThere(value['expires_in']) &&
    isText(value['scope'], maxLength.scope, 0) &&
    isText(value['resource'], maxLength.url) &&
    isText(value['account'], maxLength.account, 0) &&
    isText(value['issuer'], maxLength.url) &&
    isId(value['tokenId'])
  );
}

export function isTokenProveResult(value: unknown): value is TokenProveResult {
  return isObject(value) && isText(value['proof'], maxLength.token) && proofPattern.test(value['proof']);
}

export function isApiKeyResult(value: unknown): value is ApiKeyResult {
  return (
    isObject(value) &&
    value['kind'] === 'apiKey' &&
    matches(value['header'], headerPattern) &&
    (value['scheme'] === undefined || matches(value['scheme'], schemePattern)) &&
    isText(value['value'], maxLength.token) &&
    keyValuePattern.test(value['value']) &&
    isText(value['resource'], maxLength.url) &&
    isId(value['apiKeyId'])
  );
}

const isCountIfThere = (value: unknown): boolean => value === undefined || isCount(value);

const matches = (value: unknown, pattern: RegExp): boolean =>
  typeof value === 'string' && pattern.test(value);

export function isTokenRejectResult(value: unknown): value is TokenRejectResult {
  return (
    isObject(value) &&
    typeof value['rejected'] === 'boolean' &&
    (value['retryAfter'] === undefined || isCount(value['retryAfter']))
  );
}
