/** Grants, codes and tokens of a bent authorization server. All ends with its grant. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Json } from './jwt.ts';
import { type Parts, Refusal } from './parties.ts';

export interface BentGrant {
  readonly clientId: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  /** The `resource` parameters of the authorization, byte for byte. */
  readonly resources: readonly string[];
  readonly nonce?: string;
  /** The thumbprint of the key that its tokens are bound to. */
  jkt?: string;
  ended: boolean;
}

export interface Code {
  readonly grant: BentGrant;
  readonly redirectUri: string;
  readonly challenge: string;
  used: boolean;
}

export interface IssuedToken {
  readonly token: string;
  readonly grant: BentGrant;
  readonly clientId: string;
  readonly subject: string;
  readonly scopes: readonly string[];
  readonly audience: readonly string[];
  /** Milliseconds since the epoch; undefined: never. */
  expiresAt: number | undefined;
}

export interface RefreshToken {
  readonly token: string;
  readonly grant: BentGrant;
  scopes: readonly string[];
  /** When it was used first. Milliseconds since the epoch. */
  usedAt?: number;
}

export interface DeviceRequest {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly grant: BentGrant;
  state: 'pending' | 'approved' | 'denied' | 'expired' | 'used';
}

export function emptyTokenStore() {
  return {
    codes: new Map<string, Code>(),
    accessTokens: new Map<string, IssuedToken>(),
    refreshTokens: new Map<string, RefreshToken>(),
    /** By device code. */
    devices: new Map<string, DeviceRequest>(),
    /** `jti` of every assertion that was taken. */
    assertions: new Set<string>(),
    /** So many polls are answered `slow_down` before the state counts. */
    slowDowns: 0,
  };
}

export type TokenStore = ReturnType<typeof emptyTokenStore>;

/** 256 bits, as servers issue them. */
export function randomValue(): string {
  return randomBytes(32).toString('base64url');
}

/** A new access token for a grant, as the answer of the token endpoint. */
export function issue(
  parts: Parts,
  grant: BentGrant,
  issuing: { scopes: readonly string[]; resources: readonly string[]; refreshToken?: string },
): Json {
  const { settings, bend, store } = parts;
  const seconds = Math.floor(settings.now() / 1000);
  const lifetime = settings.accessTokenLifetime;
  const { resources, scopes, refreshToken } = issuing;
  const plain: Json = {
    iss: parts.issuer,
    sub: grant.subject,
    // RFC 9068 §3: one resource as a string; none at all means this server itself.
    aud: resources.length > 1 ? resources : (resources[0] ?? parts.issuer),
    client_id: grant.clientId,
    scope: scopes.join(' '),
    jti: randomUUID(),
    iat: seconds,
    ...(lifetime === undefined ? {} : { exp: seconds + lifetime }),
  };
  const claims = bend.accessTokenClaims?.(plain) ?? plain;
  const token =
    settings.accessTokenFormat === 'jwt' ? parts.key.sign({ typ: 'at+jwt' }, claims) : randomValue();
  store.accessTokens.set(token, issuedToken(token, grant, claims));
  return {
    access_token: token,
    token_type: grant.jkt === undefined ? 'Bearer' : 'DPoP',
    ...(lifetime === undefined ? {} : { expires_in: lifetime }),
    scope: scopes.join(settings.scopeSeparator),
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    ...(scopes.includes('openid') ? { id_token: idToken(parts, grant) } : {}),
  };
}

function issuedToken(token: string, grant: BentGrant, claims: Json): IssuedToken {
  const { aud, scope, sub, exp } = claims;
  return {
    token,
    grant,
    clientId: grant.clientId,
    subject: typeof sub === 'string' ? sub : '',
    scopes: typeof scope === 'string' ? scope.split(' ').filter((word) => word !== '') : [],
    audience: [aud].flat().filter((one) => typeof one === 'string'),
    expiresAt: typeof exp === 'number' ? exp * 1000 : undefined,
  };
}

/** Seconds that an ID token is good for: longer than any test. */
const idTokenLifetime = 3600;

export function idToken(parts: Parts, grant: Pick<BentGrant, 'subject' | 'clientId' | 'nonce'>): string {
  const seconds = Math.floor(parts.settings.now() / 1000);
  const claims: Json = {
    iss: parts.issuer,
    sub: grant.subject,
    aud: grant.clientId,
    iat: seconds,
    exp: seconds + idTokenLifetime,
    ...(grant.nonce === undefined ? {} : { nonce: grant.nonce }),
  };
  return parts.key.sign({ typ: 'JWT' }, parts.bend.idTokenClaims?.(claims) ?? claims);
}

export function newRefreshToken(parts: Parts, grant: BentGrant, scopes = grant.scopes): string {
  const token = randomValue();
  parts.store.refreshTokens.set(token, { token, grant, scopes });
  return token;
}

/** Used, and its grace is over. */
export function isSpent({ settings }: Parts, { usedAt }: RefreshToken): boolean {
  return usedAt !== undefined && settings.now() - usedAt >= settings.refreshGrace * 1000;
}

/** The first tokens of a grant, with a refresh token where the settings give one. */
export function issueWithRefresh(parts: Parts, grant: BentGrant, resources: readonly string[]): Json {
  const { refreshTokens } = parts.settings;
  const isGiven =
    refreshTokens === 'always' || (refreshTokens !== 'never' && grant.scopes.includes('offline_access'));
  return issue(parts, grant, {
    scopes: grant.scopes,
    resources,
    ...(isGiven ? { refreshToken: newRefreshToken(parts, grant) } : {}),
  });
}

/** RFC 8707 §2.2: resources of the grant, and no others. */
export function requestedResources(parts: Parts, grant: BentGrant, form: URLSearchParams): readonly string[] {
  const asked = form.getAll('resource');
  if (asked.length === 0 && parts.settings.resourceRequired)
    throw new Refusal('invalid_target', 'resource is missing');
  if (asked.some((resource) => !grant.resources.includes(resource))) {
    throw new Refusal('invalid_target', 'the resource is not one of the grant');
  }
  return asked.length === 0 ? grant.resources : asked;
}

/** The token if it was issued here, its grant stands and it hasn't expired; for any resource. */
export function validToken({ store, settings }: Parts, token: string): IssuedToken | undefined {
  const issued = store.accessTokens.get(token);
  if (issued === undefined || issued.grant.ended) return undefined;
  return issued.expiresAt === undefined || issued.expiresAt > settings.now() ? issued : undefined;
}
