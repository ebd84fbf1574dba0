/**
 * A request to the token endpoint, for every grant type.
 *
 * Invariant: a response is read before it is checked and is kept beside its refusal, so that a rotated refresh
 * token in it isn't lost.
 */
import { genericGrantRequest } from 'openid-client';
import { z } from 'zod';

import type { KeyturnError } from '../../base/errors.ts';
import type { TokenServer } from '../discovery/authorization-server.ts';
import type { OAuthClient } from '../client/client-authentication.ts';
import { isSuccess } from '../base/http.ts';
import type { Http, HttpReply } from '../base/http.ts';
import { clientConfiguration, libraryRefusal } from '../client/oauth-client.ts';
import { readTokenFields } from './token-response.ts';
import type { Subject, TokenFields } from './token-response.ts';

export interface TokenRequest {
  readonly grantType: string;
  readonly parameters: Record<string, string>;
  readonly failure: (server: TokenServer, reply: HttpReply, http: Http) => KeyturnError;
}

interface IdTokenClaims {
  readonly iss: string;
  readonly sub: string;
  readonly nonce?: unknown;
  readonly email?: unknown;
  readonly preferred_username?: unknown;
}

export interface TokenOutcome {
  /** What the server answered, if that was a token answer. */
  readonly fields?: TokenFields;
  /** Claims of the ID token that were checked. */
  readonly claims?: IdTokenClaims;
  /** Why `fields` may not be used, or why there are none. */
  readonly refusal?: KeyturnError;
}

/**
 * Never throws what the server did: a refused answer may still hold a refresh token that must not be lost.
 * The generic grant of the library serves all: its own for codes takes the redirect URI from the
 * callback URL, where ours is the recorded one, byte for byte.
 */
export async function requestToken(
  client: OAuthClient,
  http: Http,
  request: TokenRequest,
): Promise<TokenOutcome> {
  const answer: { fields?: TokenFields } = {};
  const processReply = (reply: HttpReply): Response => {
    // RFC 6749 §5.1 says 200; a rotation that came with another status of success must not be lost.
    const fields = isSuccess(reply.status) ? readTokenFields(reply) : undefined;
    if (fields === undefined) throw request.failure(client.server, reply, http);
    answer.fields = fields;
    return idTokenResponse(fields);
  };
  try {
    const config = clientConfiguration(client, http, 'the token endpoint', processReply);
    const result = await genericGrantRequest(config, request.grantType, request.parameters);
    const claims = result.claims();
    return { ...answer, ...(claims === undefined ? {} : { claims }) };
  } catch (error) {
    return { ...answer, refusal: libraryRefusal(error, client.server) };
  }
}

/** The library checks the ID token only; `processTokenFields` checks the rest. */
function idTokenResponse(fields: TokenFields): Response {
  return Response.json({
    access_token: fields.access_token,
    token_type: 'Bearer',
    ...(fields.id_token ? { id_token: fields.id_token } : {}),
  });
}

/** The answer, or its refusal thrown. */
export function requireTokenFields(outcome: TokenOutcome): TokenFields {
  if (outcome.refusal !== undefined) throw outcome.refusal;
  if (outcome.fields !== undefined) return outcome.fields;
  throw new TypeError('a token request ended without an answer and without a refusal');
}

/** Who signed in, if an ID token came. */
export function subjectOf({ claims }: TokenOutcome): { subject?: Subject } {
  if (claims === undefined) return {};
  // OpenID Connect Core §5.1: either may be missing, and neither is a subject. `login_hint` sends it back (§3.1.2.1).
  const loginHint = [claims.email, claims.preferred_username].find((name) => isName(name));
  const subject = { issuer: claims.iss, subject: claims.sub };
  return { subject: loginHint === undefined ? subject : { ...subject, loginHint } };
}

const isName = (value: unknown): value is string => nameSchema.safeParse(value).success;

/** RFC 5321 §4.5.3.1 bounds an address at 254 characters. */
const nameSchema = z
  .string()
  .max(254)
  .regex(/^[^\p{C}]+$/u);
