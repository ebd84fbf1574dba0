/**
 * The identity assertion grant (ID-JAG): an assertion of a configured provider for an access token
 * (RFC 7523, draft-ietf-oauth-identity-assertion-authz-grant).
 *
 * Invariant: an assertion counts once, for the client and the resource that it names, and only if one of the
 * configured providers signed it for this issuer. It gives no refresh token: the provider decides each time again.
 */
import { createRemoteJWKSet, customFetch, errors as joseErrors, jwtVerify, type JWTPayload } from 'jose';
import type { Provider, ResourceServer } from 'oidc-provider';
import { z } from 'zod';
import { statedClaims } from '../resource/tokens/claims.ts';
import type { Storage } from '../storage/storage.ts';
import type { GuardedFetch } from './clients/client-document.ts';
import type { AssertionProvider, Settings } from './options.ts';
import { jwtBearer } from './clients/registration-request.ts';
import { defaultScopesOf, isAccount, resourceServerOf } from './provider-settings.ts';
import type { OidcProvider } from './base/peer.ts';

/** Asymmetric ones only: a shared secret could sign for anybody who knows it. */
const algorithms = ['ES256', 'ES384', 'EdDSA', 'PS256', 'RS256'];

/** Seconds that clocks may differ. */
const clockTolerance = 30;

/** Seconds. An assertion is made for one exchange. */
const maxAge = 600;

const claims = z.object({
  iss: z.string(),
  sub: z.string().min(1),
  // One audience: an assertion for several servers could be used at each.
  aud: z.union([z.string(), z.tuple([z.string()])]),
  client_id: z.string(),
  jti: z.string().min(1),
  exp: z.number(),
  iat: z.number(),
  resource: z.string().optional(),
  scope: z.string().optional(),
  tid: z.string().optional(),
});

export interface AssertionParts {
  readonly settings: Settings;
  readonly storage: Storage;
  readonly fetch: GuardedFetch;
  readonly errors: OidcProvider['errors'];
}

/** Adds the grant to oidc-provider. Elsewhere here, the provider is who signs the assertions. */
export function acceptAssertions(provider: Provider, parts: AssertionParts): void {
  const { settings, errors } = parts;
  const verifiers = settings.assertionProviders.map((each) => verifierOf(each, parts));
  provider.registerGrantType(
    jwtBearer,
    async (ctx) => {
      const { client, params } = ctx.oidc;
      const assertion = z.string().safeParse(params?.['assertion']);
      if (!client || !assertion.success) throw new errors.InvalidRequest('the assertion is missing');
      // Read before the signature is checked, only to choose whose keys check it.
      const named = statedClaims(assertion.data)?.iss;
      const known = verifiers.find(({ issuer }) => issuer === named);
      if (!known) throw new errors.InvalidGrant('the assertion’s issuer is not accepted here');
      const verified = await known.verify(assertion.data);
      if (verified.client_id !== client.clientId)
        throw new errors.InvalidGrant('the assertion names another client');
      const resource = resourceFor(parts, verified.resource, params?.['resource']);
      const account = await known.accountFor(verified.sub, verified.tid);
      if (account === undefined || !(await isAccount(settings, account)))
        throw new errors.InvalidGrant('the assertion’s subject has no account here');
      // These tokens aren’t bound to a key; a client that wants a bound one must not get another.
      if (ctx.get('dpop') !== '' || client.dpopBoundAccessTokens === true)
        throw new errors.InvalidRequest('an identity assertion gives no token that is bound to a key');
      await spend(parts, verified);
      const server = resourceServerOf(resource, settings, client.clientId);
      const bound = verified.scope?.split(' ') ?? defaultScopesOf(resource);
      const scope = scopeFor(server, bound, params?.['scope']);
      // RFC 6749 §5.2: nothing is left of what the client or the assertion named.
      if (scope === '' && (verified.scope ?? params?.['scope']))
        throw new errors.InvalidScope('the assertion and the request have no scope in common', scope);
      const grant = new provider.Grant({ accountId: account, clientId: client.clientId });
      grant.addResourceScope(resource.resource, scope);
      const grantId = await grant.save();
      const token = new provider.AccessToken({ accountId: account, client, grantId, gty: jwtBearer, scope });
      token.resourceServer = new provider.ResourceServer(resource.resource, server);
      const value = await token.save();
      ctx.oidc.entity('AccessToken', token);
      ctx.body = { access_token: value, expires_in: token.expiration, scope, token_type: token.tokenType };
    },
    ['assertion', 'scope', 'resource'],
    ['resource'],
  );
}

function verifierOf(
  { issuer, jwksUri, accountFor }: AssertionProvider,
  { settings, fetch, errors }: AssertionParts,
) {
  const keys = createRemoteJWKSet(new URL(jwksUri), {
    [customFetch]: async (url: string, init: RequestInit) =>
      fetch.fetch(url, {
        headers: new Headers(init.headers),
        ...(init.signal ? { signal: init.signal } : {}),
      }),
  });
  const verify = async (assertion: string): Promise<z.infer<typeof claims>> => {
    let payload: JWTPayload;
    try {
      ({ payload } = await jwtVerify(assertion, keys, {
        typ: 'oauth-id-jag+jwt',
        issuer,
        audience: settings.issuer,
        algorithms,
        clockTolerance,
        maxTokenAge: maxAge,
        currentDate: new Date(settings.now()),
      }));
    } catch (cause) {
      if (cause instanceof joseErrors.JOSEError) throw new errors.InvalidGrant('the assertion is not valid');
      throw new errors.TemporarilyUnavailable('the provider’s keys can’t be read');
    }
    const parsed = claims.safeParse(payload);
    if (!parsed.success)
      throw new errors.InvalidGrant('the assertion lacks a claim, or one has a wrong form');
    return parsed.data;
  };
  return { issuer, accountFor, verify };
}

/** The resource that the assertion names must be one of ours, and the one that the request names, if it names any. */
function resourceFor(
  { settings: { resources }, errors }: AssertionParts,
  named: string | undefined,
  asked: unknown,
) {
  const wanted = named ?? (resources.length === 1 ? resources[0]?.resource : undefined);
  const found = resources.find(({ resource }) => resource === wanted);
  if (!found) throw new errors.InvalidTarget('the assertion names no resource of this server');
  if (asked !== undefined && asked !== found.resource)
    throw new errors.InvalidTarget('the assertion is for another resource');
  return found;
}

function scopeFor({ scope: known }: ResourceServer, bound: readonly string[], asked: unknown): string {
  const wanted = typeof asked === 'string' && asked !== '' ? asked.split(' ') : bound;
  return wanted.filter((scope) => bound.includes(scope) && known.split(' ').includes(scope)).join(' ');
}

/** RFC 7523 §3: an assertion that was used isn't used again. */
async function spend(
  { storage, errors }: AssertionParts,
  { iss, jti, exp }: z.infer<typeof claims>,
): Promise<void> {
  const id = JSON.stringify([iss, jti]);
  if (!(await storage.add('UsedAssertion', id, { payload: {}, expiresAt: exp + clockTolerance })))
    throw new errors.InvalidGrant('the assertion was used already');
}
