/**
 * How the protected server checks an access token: by introspection, or by its signature.
 *
 * Invariant: a token passes only if this resource is one of its audiences, compared as exact strings
 * (RFC 8707 §2, RFC 9068 §4), and it is not expired. Every refusal is the SDK's `InvalidTokenError`,
 * which becomes 401 `invalid_token`; a check that can't be made is never a pass.
 */
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { InvalidTokenError, ServerError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import type { OAuthTokenVerifier } from '@modelcontextprotocol/sdk/server/auth/provider.js';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { z } from 'zod';
import type { IntrospectionAccess } from './provider-configuration.ts';

/** Makes the verifier of one resource; the resource is known only once its server listens. */
export type VerifierFor = (resource: string) => OAuthTokenVerifier;

const claims = z.object({
  aud: z.union([z.string(), z.array(z.string())]).optional(),
  client_id: z.string(),
  exp: z.number(),
  scope: z.string().optional(),
  sub: z.string().optional(),
});

/** RFC 7662 §2.2. `token_type` tells an access token from a refresh token, which has none. */
const introspected = z.union([
  z.object({ active: z.literal(false) }),
  claims.extend({ active: z.literal(true), token_type: z.literal('Bearer') }),
]);

/** Asks the authorization server at every request, so that a revocation counts at once. */
export function introspectionVerifier(
  access: IntrospectionAccess,
  fetch: typeof globalThis.fetch,
): VerifierFor {
  // RFC 6749 §2.3.1: both parts are form-encoded first.
  const credentials = [access.clientId, access.clientSecret].map(encodeURIComponent).join(':');
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
  return (resource) => ({
    async verifyAccessToken(token) {
      const answer = await fetch(access.endpoint, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
      });
      if (!answer.ok) throw new ServerError('The token could not be checked');
      const result = introspected.safeParse(await answer.json());
      if (!result.success || !result.data.active) throw new InvalidTokenError('The token is not active');
      return authInfo(token, result.data, resource);
    },
  });
}

const keySet = z.object({ keys: z.array(z.looseObject({ kid: z.string(), kty: z.string() })) });
const header = z.object({ alg: z.literal('ES256'), kid: z.string(), typ: z.literal('at+jwt') });
const signedClaims = claims.extend({ iss: z.string() });

/** RFC 9068 §4, for servers that issue signed tokens. The keys are read anew each time: this is no busy server. */
export function signatureVerifier(
  server: { readonly issuer: string; readonly jwksUri: string },
  fetch: typeof globalThis.fetch,
): VerifierFor {
  return (resource) => ({
    async verifyAccessToken(token) {
      const [head = '', body = '', signature = ''] = token.split('.');
      const { kid } = parsedPart(header, head);
      const answer = await fetch(server.jwksUri);
      const { keys } = keySet.parse(await answer.json());
      const jwk = keys.find((key) => key.kid === kid);
      if (!jwk) throw new InvalidTokenError('The token is signed by an unknown key');
      const key = createPublicKey({ key: jwk satisfies JsonWebKey, format: 'jwk' });
      const signed = Buffer.from(`${head}.${body}`);
      const valid = verify(
        'sha256',
        signed,
        { key, dsaEncoding: 'ieee-p1363' },
        Buffer.from(signature, 'base64url'),
      );
      if (!valid) throw new InvalidTokenError('The token has a wrong signature');
      const payload = parsedPart(signedClaims, body);
      if (payload.iss !== server.issuer) throw new InvalidTokenError('The token is from another issuer');
      return authInfo(token, payload, resource);
    },
  });
}

function parsedPart<T>(schema: z.ZodType<T>, part: string): T {
  try {
    return schema.parse(JSON.parse(Buffer.from(part, 'base64url').toString('utf8')));
  } catch {
    throw new InvalidTokenError('The token is not a signed access token');
  }
}

function authInfo(token: string, payload: z.infer<typeof claims>, resource: string): AuthInfo {
  if (![payload.aud ?? []].flat().includes(resource)) {
    throw new InvalidTokenError('The token was not issued for this resource');
  }
  if (payload.exp <= Date.now() / 1000) throw new InvalidTokenError('The token has expired');
  return {
    token,
    clientId: payload.client_id,
    scopes: payload.scope?.split(' ') ?? [],
    expiresAt: payload.exp,
    resource: new URL(resource),
    extra: { sub: payload.sub ?? payload.client_id },
  };
}
