/**
 * How oidc-provider is set up.
 *
 * Invariant: PKCE with S256 for every client; a token only for a resource that is known here, for a short time and as a
 * JWT (RFC 9068); every refresh token is used once. Where accounts are another authorization server's, a token names
 * its grant (`sid`), and a grant whose session isn't live gives no token. Each callback that the provider would warn
 * about on the terminal has its own implementation.
 */
import type { Configuration, Grant, ResourceServer } from 'oidc-provider';
import type { JsonWebKey } from 'node:crypto';
import { z } from 'zod';
import { consentPolicy, grantOf } from './consent-policy.ts';
import type { Consents } from './consents.ts';
import { isTrustedHost, type GuardedFetch } from './clients/client-document.ts';
import { clientRules } from './client-rules.ts';
import type { ResourceOptions, Settings } from './options.ts';
import { errorPage, pageHeaders } from './base/pages.ts';
import type { OidcProvider } from './base/peer.ts';
import type { Accounts } from './accounts/accounts.ts';

/** Seconds. RFC 6749 §4.1.2 recommends ten minutes at most; the exchange follows at once. */
const codeLifetime = 60;

/** Seconds that a user has for the pages. */
const interactionLifetime = 15 * 60;

/** Seconds in which a document is not fetched again, whatever it names, and the longest time that it may name. */
const documentCache = { min: 30, max: 24 * 60 * 60 } as const;

export interface ProviderParts {
  readonly settings: Settings;
  readonly adapter: NonNullable<Configuration['adapter']>;
  readonly keys: readonly JsonWebKey[];
  readonly cookieKeys: readonly string[];
  readonly fetch: GuardedFetch;
  readonly errors: OidcProvider['errors'];
  readonly interactionPolicy: OidcProvider['interactionPolicy'];
  readonly consents: Consents;
}

export function providerSettings(parts: ProviderParts): Configuration {
  const { settings, adapter, keys, cookieKeys } = parts;
  const { lifetimes } = settings;
  return {
    ...clientRules(parts),
    ...grantRules(parts),
    adapter,
    jwks: { keys: [...keys] as NonNullable<Configuration['jwks']>['keys'] },
    cookies: {
      keys: [...cookieKeys],
      // RFC 6265bis §4.1.3.2: no page of a neighbouring host can put a session of its own in its place. Not for http.
      names: settings.issuer.startsWith('https:') ? { session: '__Host-session' } : {},
      long: { httpOnly: true, sameSite: 'lax', signed: true },
      short: { httpOnly: true, sameSite: 'lax', signed: true },
    },
    discovery:
      settings.assertionProviders.length > 0
        ? { authorization_grant_profiles_supported: ['urn:ietf:params:oauth:grant-profile:id-jag'] }
        : {},
    features: features(parts),
    ttl: {
      AccessToken: lifetimes.accessToken,
      ClientCredentials: lifetimes.accessToken,
      AuthorizationCode: codeLifetime,
      Grant: lifetimes.refreshToken + spareOf(settings),
      IdToken: lifetimes.accessToken,
      Interaction: interactionLifetime,
      RefreshToken: lifetimes.refreshToken,
      Session: lifetimes.session,
    },
    renderError: (ctx, out, error) => {
      const said = explanation(error) ?? out.error_description ?? 'The request can’t be understood.';
      ctx.set(pageHeaders);
      ctx.body = errorPage(out.error, said);
    },
  };
}

/** What an authorization needs, and what it leads to. */
function grantRules({ settings, consents, errors, interactionPolicy }: ProviderParts): Configuration {
  const { accounts, issuer, resources } = settings;
  return {
    // MCP, Authorization Code Protection.
    pkce: { required: () => true },
    // An ID token in a redirect would need no verifier.
    responseTypes: ['code'],
    // Those of the protected servers, so that a registration may name them.
    scopes: ['openid', 'offline_access', ...new Set(resources.flatMap(({ scopes }) => Object.keys(scopes)))],
    claims: { openid: ['sub'] },
    findAccount: async ({ oidc }, sub, token) => {
      if (!(await isAccount(settings, sub))) return undefined;
      if (await isWithdrawn(consents, sub, token, oidc.entities.Grant)) return undefined;
      if (!(await isGrantLive(accounts, token, errors))) return undefined;
      return { accountId: sub, claims: () => ({ sub }) };
    },
    extraTokenClaims: (ctx, token) => {
      const asked = ctx.oidc.params?.['scope'];
      // RFC 6749 §5.2. The provider would issue a token that is good for nothing.
      if (token.kind === 'ClientCredentials' && !token.scope && typeof asked === 'string' && asked !== '')
        throw new errors.InvalidScope('the client may have none of the scopes', asked);
      return sessionClaim(accounts, token);
    },
    interactions: {
      policy: consentPolicy(interactionPolicy, accounts.forwarding !== undefined),
      url: (_ctx, interaction) => `${pathOf(issuer)}/interaction/${interaction.uid}`,
    },
    // MCP, Token Theft.
    rotateRefreshToken: async ({ oidc }) => {
      await prolong(oidc.entities.Grant, settings);
      return true;
    },
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    expiresWithSession: () => false,
    loadExistingGrant: async (ctx) => grantOf(ctx, settings, consents),
  };
}

/** A grant lives as long as its newest refresh token at least: it must not end one that is in use. */
async function prolong(grant: Grant | undefined, settings: Settings): Promise<void> {
  const end = Math.floor(settings.now() / 1000) + settings.lifetimes.refreshToken;
  if (grant?.exp === undefined || grant.exp >= end) return;
  grant.exp = end + spareOf(settings);
  await grant.save();
}

/** Seconds that a grant gets beyond a refresh token: for the code before the first one, and so that few refreshes write. */
const spareOf = ({ lifetimes }: Settings): number => codeLifetime + Math.ceil(lifetimes.refreshToken / 10);

/**
 * Whether the account withdrew its consent after it gave it. The grant counts: a refresh that is under way at the
 * withdrawal issues a newer token of the same grant.
 */
async function isWithdrawn(
  consents: Consents,
  account: string,
  token: unknown,
  grant: Grant | undefined,
): Promise<boolean> {
  const { success, data } = heldToken.safeParse(token);
  return success && consents.isWithdrawn(account, data.clientId, grant?.iat ?? data.iat);
}

/** A code or a refresh token. */
const heldToken = z.object({ clientId: z.string(), iat: z.number() });

function features({ settings, errors }: ProviderParts): NonNullable<Configuration['features']> {
  const { registration, resources, clientDocuments } = settings;
  return {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    // Anybody could fill the storage by it.
    pushedAuthorizationRequests: { enabled: false },
    clientCredentials: { enabled: settings.clients.some(({ isMachine }) => isMachine) },
    registration: {
      enabled: registration !== 'off',
      ...(typeof registration === 'object' ? { initialAccessToken: registration.initialAccessToken } : {}),
      issueRegistrationAccessToken: true,
    },
    // RFC 7592: a client reads, changes and removes its own registration.
    registrationManagement: { enabled: registration !== 'off', rotateRegistrationAccessToken: true },
    clientIdMetadataDocument: {
      enabled: clientDocuments !== 'none',
      ack: 'draft-02',
      allowFetch: (_ctx, url) => isTrustedHost(url, clientDocuments),
      cacheDuration: documentCache,
    },
    // RFC 7009 §2.1: a client revokes its own tokens only.
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId },
    resourceIndicators: {
      enabled: true,
      // A client of an earlier revision names none. With one protected server there is no doubt which it means.
      defaultResource: () => {
        const [only, ...others] = resources;
        if (only === undefined || others.length > 0)
          throw new errors.InvalidTarget('the resource parameter is missing');
        return only.resource;
      },
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, uri, client) => {
        const known = resources.find(({ resource }) => resource === uri);
        // RFC 8707 §2. Compared byte for byte: `oneSpelling` replaced other spellings before.
        if (!known) throw new errors.InvalidTarget();
        return resourceServerOf(known, settings, client.clientId);
      },
    },
  };
}

/** As this client may use it. */
export function resourceServerOf(
  { resource, scopes }: ResourceOptions,
  { lifetimes, clients }: Settings,
  clientId: string,
): ResourceServer {
  return {
    audience: resource,
    scope: Object.keys(scopes)
      .filter((scope) => mayHave(clients, clientId, scope))
      .join(' '),
    accessTokenTTL: lifetimes.accessToken,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: 'ES256' } },
  };
}

/**
 * `token`: a code or a refresh token. Throws temporarily_unavailable where nobody can tell; the token isn't used up by
 * then.
 */
async function isGrantLive(
  { forwarding }: Accounts,
  token: unknown,
  errors: OidcProvider['errors'],
): Promise<boolean> {
  const grantId = grantIdOf(token);
  if (!forwarding || grantId === undefined) return true;
  try {
    return await forwarding.isLive(grantId);
  } catch {
    throw new errors.TemporarilyUnavailable('the upstream authorization server can not be reached');
  }
}

/** The claim `sid` of a token: its grant. */
function sessionClaim({ forwarding }: Accounts, token: unknown): { sid: string } | undefined {
  const grantId = grantIdOf(token);
  return forwarding && grantId !== undefined ? { sid: grantId } : undefined;
}

function grantIdOf(token: unknown): string | undefined {
  const hasGrant = typeof token === 'object' && token !== null && 'grantId' in token;
  return hasGrant && typeof token.grantId === 'string' ? token.grantId : undefined;
}

/** False: the operator gave this client others only. */
export function mayHave(clients: Settings['clients'], clientId: string | null, scope: string): boolean {
  return clients.find((each) => each.clientId === clientId)?.scopes?.includes(scope) ?? true;
}

/** RFC 9068 §5: the subject of a machine's token is the client, so no account may have its id. */
export async function isAccount({ clients, accounts }: Settings, id: string): Promise<boolean> {
  return !clients.some(({ clientId, isMachine }) => isMachine && clientId === id) && accounts.isKnown(id);
}

/** What a request for no scope gets (RFC 6749 §3.3). */
export function defaultScopesOf(resource: ResourceOptions): readonly string[] {
  return resource.defaultScopes ?? Object.keys(resource.scopes);
}

/** What we know better than the provider's own words. */
function explanation(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'reason' in cause ? cause.message : undefined;
}

/** The path of an issuer; empty for one without. */
export function pathOf(issuer: string): string {
  return new URL(issuer).pathname.replace(/\/$/, '');
}
