/**
 * Enterprise-managed authorization. The company's identity provider exchanges an ID token for an identity assertion
 * grant (ID-JAG, RFC 8693). The MCP server's authorization server exchanges that for an access token (RFC 7523
 * §2.1).
 *
 * Invariant: the ID token goes only to the identity provider, the assertion only to the authorization
 * server whose issuer it was asked for, and the access token only to the resource. An assertion is redeemed only if the
 * identity provider that was asked issued it, for this authorization server, this client and this resource. Its
 * signature is for the authorization server to check. No message repeats the assertion.
 */
import type { JsonObject } from 'openid-client';
import { z } from 'zod';
import { quoted, RuleRefusal } from '../../base/errors.ts';
import type { KeyturnError } from '../../base/errors.ts';
import { metadataOfIssuer, tokenExchange } from '../discovery/authorization-server.ts';
import type { AuthorizationServer, TokenServer } from '../discovery/authorization-server.ts';
import type { OAuthClient } from '../client/client-authentication.ts';
import type { Http } from '../base/http.ts';
import { shownText } from '../base/oauth-error.ts';
import { jwtPart } from '../base/json-object.ts';
import { scopeParameter } from '../base/scope.ts';
import { serverTime } from '../base/server-clock.ts';
import { requireSecureUrl } from '../base/secure-url.ts';
import { unusable } from './token-response.ts';
import type { GrantRequest, Subject, TokenResponse, TokenFields } from './token-response.ts';
import { grantFailure } from './token-failure.ts';
import { requestAccessToken, requestToken, requireTokenFields } from './token-request.ts';

const idJagType = 'urn:ietf:params:oauth:token-type:id-jag';
const idJagProfile = 'urn:ietf:params:oauth:grant-profile:id-jag';

/**
 * The identity provider's token endpoint. No browser opens a page of the identity provider, so it needs neither PKCE
 * nor an authorization endpoint here. Throws as `metadataOfIssuer`, and metadata_invalid if there is none.
 */
export async function discoverIdentityProvider(issuer: string, http: Http): Promise<TokenServer> {
  const found = await metadataOfIssuer(issuer, http);
  if (found === undefined) throw incomplete(issuer, 'it publishes none');
  return { issuer, tokenEndpoint: tokenEndpointOf(issuer, found.json, http), metadata: found.json };
}

function tokenEndpointOf(issuer: string, json: JsonObject, http: Http): string {
  const endpoint = z.string().safeParse(json['token_endpoint']).data;
  if (endpoint === undefined) throw incomplete(issuer, 'it names no token endpoint');
  requireSecureUrl(endpoint, 'the token endpoint', http);
  return endpoint;
}

function incomplete(issuer: string, problem: string): RuleRefusal {
  return new RuleRefusal(
    'metadata_invalid',
    `The metadata of the identity provider ${quoted(issuer)} can't be used: ${problem}.`,
    { rule: 'RFC 8414 §2', hint: 'Check the issuer that was given with --idp.' },
  );
}

export interface IdentityRequest extends GrantRequest {
  /** The MCP server's authorization server. */
  readonly server: AuthorizationServer;
  /** The identity provider, and our client there. */
  readonly identityProvider: OAuthClient;
  /** The ID token that the identity provider issued. A secret. */
  readonly idToken: string;
}

/**
 * An access token by an assertion of the identity provider. The assertion is redeemed at once and kept nowhere: the
 * identity provider decides each time. Throws metadata_invalid if the authorization server doesn't accept such
 * assertions, token_invalid for an assertion of another kind or for another server, client or resource, and otherwise
 * as `requestClientCredentials` does.
 */
export async function requestByIdentity(
  { identityProvider, idToken, ...request }: IdentityRequest,
  http: Http,
): Promise<TokenResponse> {
  const { server, resource, scope } = request;
  requireProfile(server);
  const provider = identityProvider.server;
  const outcome = await requestToken(identityProvider, http, {
    grantType: tokenExchange,
    parameters: {
      requested_token_type: idJagType,
      subject_token: idToken,
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      audience: server.issuer,
      resource,
      ...scopeParameter(scope),
    },
    failure: grantFailure(
      'Its ID token may have expired: have the identity provider issue a new one, and check what this client may do there.',
    ),
  });
  const fields = requireTokenFields(outcome);
  requireAssertion(fields, provider);
  const assertion = fields.access_token;
  const subject = identityOf(assertion, provider, request, serverTime(http, provider));
  return requestAccessToken(request, http, {
    grantType: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    parameters: { assertion },
    failure: grantFailure(
      'Check that the authorization server trusts this identity provider and knows this client.',
      true,
      'id-jag',
    ),
    subject,
  });
}

/** A server that lists other profiles doesn't accept such assertions. A server without a list may accept them. */
function requireProfile(server: AuthorizationServer): void {
  if (server.grantProfilesSupported?.includes(idJagProfile) ?? true) return;
  throw new RuleRefusal(
    'metadata_invalid',
    `${quoted(server.issuer)} doesn't take identity assertions of another provider.`,
    {
      rule: 'Keyturn sends a server only the grant profiles that it lists (authorization_grant_profiles_supported)',
      hint: 'Sign in there directly, or have enterprise-managed authorization switched on.',
    },
  );
}

/** RFC 8693 §2.2.1: the issued token must have the requested type, and token_type N_A, since it is no access token. */
function requireAssertion(fields: TokenFields, server: TokenServer): void {
  const { issued_token_type: type, token_type: usage, secrets } = fields;
  if (type !== idJagType) {
    const shown = shownText(type ?? 'token of no type', secrets);
    throw unusable(server, `it is a ${shown}, not an ID-JAG`, 'RFC 8693 §2.2.1');
  }
  if (usage?.toLowerCase() !== 'n_a') {
    const shown = shownText(usage ?? '', secrets);
    throw unusable(server, `its token_type is ${shown}, not N_A`, 'RFC 8693 §2.2.1');
  }
}

/** The header's `typ`, and the claims that such an assertion must have. `exp`: seconds since 1970. */
const headerSchema = z.object({ typ: z.string() });
const claimsSchema = z.object({
  iss: z.string(),
  sub: z.string().min(1).max(255),
  aud: z.union([z.string(), z.tuple([z.string()])]),
  client_id: z.string(),
  resource: z.union([z.string(), z.array(z.string()).min(1)]),
  exp: z.number(),
});

/**
 * The identity provider, and the user that it names. `now`: milliseconds since 1970, by the provider's clock.
 * Throws `token_invalid`.
 */
function identityOf(
  assertion: string,
  provider: TokenServer,
  { server, registration, resource }: GrantRequest,
  now: number,
): Subject {
  const [header = '', payload = '', signature = '', ...rest] = assertion.split('.');
  const refuse = (problem: string): KeyturnError =>
    unusable(provider, problem, 'Identity Assertion Authorization Grant §3 (ID-JAG)');
  const isSigned = signature !== '' && rest.length === 0;
  const typ = headerSchema.safeParse(jwtPart(header)).data?.typ;
  // RFC 8725 §3.11: no JWT of another kind passes for it.
  if (!isSigned || typ?.toLowerCase() !== 'oauth-id-jag+jwt') throw refuse('it is no signed ID-JAG');
  const claims = claimsSchema.safeParse(jwtPart(payload)).data;
  if (!claims)
    throw refuse('it lacks one of iss, sub, aud, client_id, resource and exp, or names several servers');
  if (claims.iss !== provider.issuer) throw refuse('its issuer is another identity provider');
  if ([claims.aud].flat()[0] !== server.issuer) throw refuse(`its audience is not ${quoted(server.issuer)}`);
  if (claims.client_id !== registration.clientId) throw refuse('it is for another client');
  if ([claims.resource].flat().some((one) => one !== resource))
    throw refuse(`its resource is not ${quoted(resource)}`);
  if (claims.exp * 1000 <= now) throw refuse('it has expired');
  return { issuer: claims.iss, subject: claims.sub };
}
