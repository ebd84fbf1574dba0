/**
 * Counts what an oidc-provider did.
 *
 * Invariant: a number rises only after the provider has finished the action it counts.
 */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

export interface Counts {
  /** Filled-in sign-in forms, not consents in a session that was signed in already. */
  signIns: number;
  /** Authorizations that ended with a code. */
  authorizations: number;
  registrations: number;
  /** Requests that reached the token endpoint, whatever became of them. */
  tokenRequests: number;
  codeExchanges: number;
  refreshes: number;
  /** A refresh token was presented a second time; its whole grant has ended. */
  refreshReuses: number;
  deniedTokenRequests: number;
  /** Tokens that a client had revoked; a request about an unknown token revokes nothing. */
  revocations: number;
  introspections: number;
  /** Failures of the server itself; zero in a healthy world. */
  serverErrors: number;
}

export function noCounts(): Counts {
  return {
    signIns: 0,
    authorizations: 0,
    registrations: 0,
    tokenRequests: 0,
    codeExchanges: 0,
    refreshes: 0,
    refreshReuses: 0,
    deniedTokenRequests: 0,
    revocations: 0,
    introspections: 0,
    serverErrors: 0,
  };
}

export function countActions(provider: Provider, counts: Counts): void {
  provider.on('authorization.success', () => (counts.authorizations += 1));
  provider.on('registration_create.success', () => (counts.registrations += 1));
  provider.on('grant.success', (ctx) => {
    const grantType = ctx.oidc.params?.['grant_type'];
    if (grantType === 'authorization_code') counts.codeExchanges += 1;
    if (grantType === 'refresh_token') counts.refreshes += 1;
  });
  provider.on('grant.error', (_ctx, error) => {
    counts.deniedTokenRequests += 1;
    if (error.error_detail === 'refresh token already used') counts.refreshReuses += 1;
  });
  provider.on('server_error', () => (counts.serverErrors += 1));
  countAnswers(provider, counts);
}

/** Revocation and introspection raise no events; their answers are looked at. */
function countAnswers(provider: Provider, counts: Counts): void {
  provider.use(async (ctx, next) => {
    await next();
    // Absent where no route of the provider matched.
    const oidc: KoaContextWithOIDC['oidc'] | undefined = ctx['oidc'];
    if (oidc === undefined || ctx.status !== 200) return;
    if (oidc.route === 'introspection') counts.introspections += 1;
    if (oidc.route === 'revocation') {
      const token = oidc.entities.RefreshToken ?? oidc.entities.AccessToken;
      if (token !== undefined && token.clientId === oidc.client?.clientId) counts.revocations += 1;
    }
  });
}
