/**
 * Ends grants: here at once, and at the authorization server by RFC 7009.
 *
 * Invariant: a grant is over on this machine before the server is asked, so that a dead network
 * can't keep it alive; its secret leaves the vault only when the server confirmed, or offers no
 * revocation.
 */
import { KeyturnError, quoted, reasonOf } from '../errors.ts';
import type { Http } from '../oauth/http.ts';
import { revokeToken } from '../oauth/revocation.ts';
import type { Revocation, RevocationRequest } from '../oauth/revocation.ts';
import type { Audit } from './audit.ts';
import type { AuthorizationServers } from './authorization-servers.ts';
import type { GrantSecret } from './grant-secret.ts';
import type { Grant, Grants, GrantState } from './grant.ts';
import type { Refresher } from './refresher.ts';
import type { Registrations } from './registrations.ts';
import type { AccessToken, TokenCache } from './token-cache.ts';

export interface RevokerParts {
  readonly network: (endpoint: string) => Http;
  readonly grants: Grants;
  readonly registrations: Registrations;
  readonly servers: AuthorizationServers;
  readonly refresher: Refresher;
  readonly cache: TokenCache;
  readonly audit: Audit;
}

export type Receipt = Extract<GrantState, { kind: 'revoked' }>['receipt'];

/** Throws `not_found`, and what the vault throws where the secret can't be removed after the server confirmed. */
export async function revokeGrant(
  parts: RevokerParts,
  named: Grant,
): Promise<{ grant: Grant; receipt: Receipt }> {
  // Before our turn: a slow refresh must not keep the grant alive for those who wait for it.
  const ending = endHere(parts, named.id);
  // The turn below reports it; until then it may be rejected without anybody listening.
  ending.catch(() => undefined);
  // Queued before anything is waited for: of two revocations the one that has the access tokens goes first.
  return parts.refresher.exclusive(named.id, async () => {
    const inUse = await ending;
    // Again: a sign-in that was in the queue before us may have revived it, and this came later.
    const handedOut = [...inUse, ...(await endHere(parts, named.id))];
    const ended = current(parts, named.id);
    if (ended.state.kind === 'revoked' && ended.state.receipt !== 'pending') {
      return { grant: ended, receipt: ended.state.receipt };
    }
    const receipt = await tellServer(parts, ended, handedOut);
    const grant = receipt === 'pending' ? ended : await forget(parts, ended, receipt);
    const { id, resource, issuer } = grant;
    await parts.audit.record({ event: 'revoke', outcome: receipt, grant: id, resource, issuer });
    return { grant, receipt };
  });
}

/** Over on this machine, from this moment. Answers the access tokens that were in use. */
async function endHere(parts: RevokerParts, grantId: string): Promise<AccessToken[]> {
  const grant = current(parts, grantId);
  const handedOut = parts.cache.of(grantId);
  parts.cache.dropGrant(grantId);
  if (grant.state.kind !== 'revoked') {
    await parts.grants.change(grant, { state: { kind: 'revoked', receipt: 'pending' } });
  }
  return handedOut;
}

function current({ grants }: RevokerParts, grantId: string): Grant {
  const grant = grants.byId(grantId);
  if (grant) return grant;
  throw new KeyturnError('not_found', `There is no grant ${quoted(grantId)} any more.`, {
    hint: '`keyturn list` shows the grants there are.',
  });
}

async function forget({ grants, refresher }: RevokerParts, grant: Grant, receipt: Receipt): Promise<Grant> {
  await refresher.secrets.remove(grant.id);
  return grants.change(grant, { state: { kind: 'revoked', receipt }, hasRefreshToken: false });
}

/** `pending` when the server could not be told now; the tokens stay in the vault for the next try. */
async function tellServer(
  parts: RevokerParts,
  grant: Grant,
  handedOut: readonly AccessToken[],
): Promise<Receipt> {
  try {
    const results = await tellEach(parts, grant, await secretOf(parts, grant), handedOut);
    return results.includes('confirmed') ? 'confirmed' : 'notOffered';
  } catch (error) {
    const reason = reasonOf(error);
    parts.audit.note({ event: 'revoke', outcome: reason, grant: grant.id, issuer: grant.issuer });
    return 'pending';
  }
}

/** A grant whose record knows of no refresh token may have no item at all: then there is nothing to tell. */
async function secretOf({ refresher }: RevokerParts, grant: Grant): Promise<GrantSecret> {
  try {
    return await refresher.secrets.read(grant.id);
  } catch (error) {
    if (!grant.hasRefreshToken && reasonOf(error) === 'vault_unreadable') return { superseded: [] };
    throw error;
  }
}

/** RFC 7009 §2: the refresh token first, since it ends the whole grant where the server is willing. */
async function tellEach(
  { registrations, servers, network }: RevokerParts,
  grant: Grant,
  secret: GrantSecret,
  handedOut: readonly AccessToken[],
): Promise<Revocation[]> {
  await registrations.verify();
  const record = registrations.byId(grant.registrationId);
  if (!record) return ['not_offered'];
  const clientSecret = await registrations.secret(record);
  const server = await servers.of(grant);
  const http = network(grant.endpoints[0] ?? grant.resource);
  const identity = {
    server,
    registration: record.registration,
    ...(clientSecret === undefined ? {} : { clientSecret }),
  };
  const told = await endRefreshTokens(identity, secret, http);
  const accessTokens = [secret.accessToken?.value, ...handedOut.map((token) => token.accessToken)];
  for (const token of accessTokens.filter((value) => value !== undefined)) {
    // Not every server can end an access token (a JWT, say): the refresh token's end is what counts.
    const ended = await revokeToken({ ...identity, token, hint: 'access_token' }, http).catch(
      () => undefined,
    );
    if (secret.refreshToken === undefined && ended !== undefined) told.push(ended);
  }
  return told;
}

/** The answer for the current one first, which is what the receipt is about; then those of earlier sign-ins. */
async function endRefreshTokens(
  identity: Omit<RevocationRequest, 'token' | 'hint'>,
  { refreshToken, superseded }: GrantSecret,
  http: Http,
): Promise<Revocation[]> {
  const results: Revocation[] = [];
  for (const token of [refreshToken, ...superseded].filter((value) => value !== undefined)) {
    results.push(await revokeToken({ ...identity, token, hint: 'refresh_token' }, http));
  }
  return refreshToken === undefined ? results : results.slice(0, 1);
}
