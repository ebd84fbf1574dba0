/**
 * Ends grants: here at once, and at the authorization server by RFC 7009.
 *
 * Invariant: a grant is over on this machine before the server is asked, so that a dead network
 * can't keep it alive; its secret leaves the vault only when the server confirmed, or offers no
 * revocation.
 */
import { reasonOf } from '../errors.ts';
import type { Http } from '../oauth/http.ts';
import { revokeToken } from '../oauth/revocation.ts';
import type { Vault } from '../vault/vault.ts';
import type { Audit } from './audit.ts';
import type { AuthorizationServers } from './authorization-servers.ts';
import { readGrantSecret } from './grant-secret.ts';
import type { GrantSecret } from './grant-secret.ts';
import { grantVaultId } from './grant.ts';
import type { Grant, Grants, GrantState } from './grant.ts';
import type { Refresher } from './refresher.ts';
import type { Registrations } from './registrations.ts';
import type { AccessToken, TokenCache } from './token-cache.ts';

export interface RevokerParts {
  readonly http: Http;
  readonly vault: Vault;
  readonly grants: Grants;
  readonly registrations: Registrations;
  readonly servers: AuthorizationServers;
  readonly refresher: Refresher;
  readonly cache: TokenCache;
  readonly audit: Audit;
}

export type Receipt = Extract<GrantState, { kind: 'revoked' }>['receipt'];

export async function revokeGrant(
  parts: RevokerParts,
  named: Grant,
): Promise<{ grant: Grant; receipt: Receipt }> {
  const { grants, refresher, cache, audit } = parts;
  return refresher.exclusive(named.id, async () => {
    const handedOut = cache.of(named.id);
    cache.dropGrant(named.id);
    const ended = await grants.change(grants.byId(named.id) ?? named, {
      state: { kind: 'revoked', receipt: 'pending' },
    });
    const receipt = await tellServer(parts, ended, handedOut);
    const grant = receipt === 'pending' ? ended : await forget(parts, ended, receipt);
    await audit.record({
      event: 'revoke',
      outcome: receipt,
      grant: grant.id,
      resource: grant.resource,
      issuer: grant.issuer,
    });
    return { grant, receipt };
  });
}

async function forget({ grants, vault }: RevokerParts, grant: Grant, receipt: Receipt): Promise<Grant> {
  await vault.remove(grantVaultId(grant.id));
  return grants.change(grant, { state: { kind: 'revoked', receipt }, hasRefreshToken: false });
}

/** `pending` when the server could not be told now; the tokens stay in the vault for the next try. */
async function tellServer(
  parts: RevokerParts,
  grant: Grant,
  handedOut: readonly AccessToken[],
): Promise<Receipt> {
  try {
    const secret = await readGrantSecret(parts.vault, grant.id);
    const results = await tellEach(parts, grant, secret, handedOut);
    return results.includes('confirmed') ? 'confirmed' : 'notOffered';
  } catch (error) {
    const reason = reasonOf(error);
    parts.audit.note({ event: 'revoke', outcome: reason, grant: grant.id, issuer: grant.issuer });
    return 'pending';
  }
}

/** RFC 7009 §2: the refresh token first, since it ends the whole grant where the server is willing. */
async function tellEach(
  { registrations, servers, http }: RevokerParts,
  grant: Grant,
  secret: GrantSecret,
  handedOut: readonly AccessToken[],
): Promise<('confirmed' | 'not_offered')[]> {
  const record = registrations.byId(grant.registrationId);
  if (!record) return ['not_offered'];
  const clientSecret = await registrations.secret(record);
  const server = await servers.get(grant.issuer);
  const identity = {
    server,
    registration: record.registration,
    ...(clientSecret === undefined ? {} : { clientSecret }),
  };
  const refreshTokens = [secret.refreshToken, ...secret.superseded].filter((token) => token !== undefined);
  const accessTokens = [secret.accessToken?.value, ...handedOut.map((token) => token.accessToken)];
  const results: ('confirmed' | 'not_offered')[] = [];
  for (const token of refreshTokens) {
    results.push(await revokeToken({ ...identity, token, hint: 'refresh_token' }, http));
  }
  for (const token of accessTokens.filter((value) => value !== undefined)) {
    // Not every server can end an access token (a JWT, say): the refresh token's end is what counts.
    const ended = await revokeToken({ ...identity, token, hint: 'access_token' }, http).catch(
      () => undefined,
    );
    if (ended !== undefined) results.push(ended);
  }
  return results;
}
