/**
 * A request to the token endpoint, for every grant type.
 *
 * Invariant: the fields of a refused response are returned with the refusal, so that a rotated refresh token in them
 * isn't lost.
 */
import { genericGrantRequest } from 'openid-client';
import { z } from 'zod';
import type { KeyturnError } from '../../base/errors.ts';
import type { TokenServer } from '../discovery/authorization-server.ts';
import type { OAuthClient } from '../client/client-authentication.ts';
import type { DpopKey } from '../client/dpop-key.ts';
import { isSuccess } from '../base/http.ts';
import type { Http, HttpReply } from '../base/http.ts';
import { resourceParameter } from '../base/exceptions.ts';
import { jwtPart } from '../base/json-object.ts';
import { oauthError } from '../base/oauth-error.ts';
import { scopeParameter } from '../base/scope.ts';
import { clientConfiguration, libraryRefusal } from '../client/oauth-client.ts';
import { processTokenFields, readTokenFields } from './token-response.ts';
import type { GrantRequest, SentRequest, Subject, TokenFields, TokenResponse } from './token-response.ts';

export interface TokenRequest {
  readonly grantType: string;
  readonly parameters: Record<string, string>;
  readonly failure: (server: TokenServer, reply: HttpReply, http: Http) => KeyturnError;
  /** The key that the token should be bound to. */
  readonly dpopKey?: DpopKey | undefined;
  /** The ID token is what is wanted: without a valid one the answer is refused. Else it only names the account. */
  readonly needsIdToken?: boolean | undefined;
  readonly nonce?: string | undefined;
}

interface IdTokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly nonce?: unknown;
  readonly email?: unknown;
  readonly preferred_username?: unknown;
}

export interface TokenOutcome {
  readonly fields?: TokenFields;
  /** The claims of the ID token, which the library has checked. */
  readonly claims?: IdTokenClaims;
  /** The reason why `fields` must not be used, or why there are none. */
  readonly refusal?: KeyturnError;
}

/**
 * Sends the request. Returns a refusal instead of throwing it, because a refused response may contain a refresh
 * token. All grant types use the library's generic request. Its request for codes would take the redirect URI from
 * the callback URL; ours is the recorded one, byte for byte.
 */
export async function requestToken(
  client: OAuthClient,
  http: Http,
  request: TokenRequest,
): Promise<TokenOutcome> {
  const { dpopKey } = request;
  const nonce = dpopKey?.issuerNonce;
  const { wantsNonce, ...first } = await requestOnce(client, http, request);
  // RFC 9449 §8: once with the nonce that the server gave. A server that wants another one each time gets no third
  // request. The library makes a new client assertion too, since a server takes each of them once.
  if (!wantsNonce || dpopKey?.issuerNonce === nonce) return first;
  const { wantsNonce: _, ...second } = await requestOnce(client, http, request);
  return second;
}

async function requestOnce(
  client: OAuthClient,
  http: Http,
  request: TokenRequest,
): Promise<TokenOutcome & { readonly wantsNonce?: boolean }> {
  const { dpopKey } = request;
  const answer: { fields?: TokenFields; wantsNonce?: boolean } = {};
  const processReply = (reply: HttpReply): Response => {
    if (dpopKey && oauthError(reply)?.code === 'use_dpop_nonce') answer.wantsNonce = true;
    // RFC 6749 §5.1 says 200. Another 2xx may contain a rotated refresh token too, which must not be lost.
    const fields = isSuccess(reply.status) ? readTokenFields(reply) : undefined;
    if (fields === undefined) throw request.failure(client.server, reply, http);
    answer.fields = fields;
    return idTokenResponse(fields);
  };
  try {
    const config = clientConfiguration(client, http, { what: 'the token endpoint', processReply, dpopKey });
    const result = await genericGrantRequest(config, request.grantType, request.parameters);
    const claims = result.claims();
    return { ...answer, claims };
  } catch (error) {
    const { fields } = answer;
    if (fields?.id_token && mayDoWithout(fields.id_token, client, request)) return answer;
    return { ...answer, refusal: libraryRefusal(error, client.server) };
  }
}

const unverifiedClaims = z.object({ aud: z.unknown().optional(), nonce: z.unknown().optional() });

/**
 * The access token came over the same connection and is good without an ID token that can't be validated. One that says
 * that it is for another client or another sign-in is refused all the same (OpenID Connect Core §3.1.3.7 rules 3 and 11).
 */
function mayDoWithout(
  idToken: string,
  { registration }: OAuthClient,
  { needsIdToken = false, nonce }: TokenRequest,
): boolean {
  if (needsIdToken) return false;
  const claims = unverifiedClaims.safeParse(jwtPart(idToken.split('.')[1])).data;
  if (claims === undefined) return true;
  const isForUs = claims.aud === undefined || [claims.aud].flat().includes(registration.clientId);
  return isForUs && (claims.nonce === undefined || claims.nonce === nonce);
}

/** The library checks the ID token only; `processTokenFields` checks the rest. */
function idTokenResponse(fields: TokenFields): Response {
  return Response.json({
    access_token: fields.access_token,
    token_type: 'Bearer',
    ...(fields.id_token ? { id_token: fields.id_token } : {}),
  });
}

/** The fields of the response. Throws its refusal. */
export function requireTokenFields(outcome: TokenOutcome): TokenFields {
  if (outcome.refusal !== undefined) throw outcome.refusal;
  if (outcome.fields !== undefined) return outcome.fields;
  throw new TypeError('a token request ended without an answer and without a refusal');
}

/** By a grant whose next token needs a new request. RFC 6749 §4.4.3, RFC 7521 §4.1: a refresh token is dropped. */
export async function requestAccessToken(
  request: GrantRequest,
  http: Http,
  {
    parameters,
    subject,
    ...how
  }: Pick<TokenRequest, 'grantType' | 'parameters' | 'failure'> & Pick<SentRequest, 'subject'>,
): Promise<TokenResponse> {
  const requestedAt = http.now();
  const outcome = await requestToken(request, http, {
    ...how,
    parameters: {
      ...parameters,
      ...resourceParameter(request.resource, request.exceptions),
      ...scopeParameter(request.scope),
    },
    dpopKey: request.dpopKey,
  });
  const sent = { ...request, requestedAt, subject };
  return { ...processTokenFields(requireTokenFields(outcome), sent, http), refreshToken: undefined };
}

/** The checked tokens of the response. Throws its refusal, token_invalid and audience_mismatch. */
export function tokensOf(outcome: TokenOutcome, sent: SentRequest, http: Http): TokenResponse {
  return processTokenFields(requireTokenFields(outcome), { ...sent, ...subjectOf(outcome) }, http);
}

/** The user who signed in, if the response had an ID token, and that token. */
function subjectOf({ claims, fields }: TokenOutcome): { subject?: Subject; idToken?: string } {
  // Some servers write "" for nobody: that names no account.
  if (claims === undefined || claims.sub === '') return {};
  const idToken = fields?.id_token ? { idToken: fields.id_token } : {};
  // OpenID Connect Core §5.1: both claims are optional, and neither identifies a user for certain. The next sign-in
  // sends the name as `login_hint` (§3.1.2.1).
  const loginHint = [claims.email, claims.preferred_username].find((name) => isName(name));
  const subject = { issuer: claims.iss, subject: claims.sub };
  return { subject: loginHint === undefined ? subject : { ...subject, loginHint }, ...idToken };
}

const isName = (value: unknown): value is string => nameSchema.safeParse(value).success;

/** RFC 5321 §4.5.3.1: an address has at most 254 characters. */
const nameSchema = z
  .string()
  .max(254)
  .regex(/^[^\p{C}]+$/u);
