/**
 * What is added to oidc-provider's own handling: what a request may leave out, and what an operator hears.
 *
 * Invariant: an event holds no token, code or secret.
 */
import type { Provider } from 'oidc-provider';
import type { AuthorizationEvent, AuthorizationServerOptions, Settings } from './options.ts';
import { unasked } from './consent-policy.ts';
import { defaultScopesOf } from './provider-settings.ts';

/**
 * Fills what a request may leave out. The provider by itself refuses a request without scope, and drops
 * `offline_access` unless `prompt=consent` comes with it.
 */
export function completeRequests(provider: Provider, { resources }: Settings): void {
  provider.use(async (ctx, next) => {
    if (ctx.method === 'GET' && ctx.path === '/auth') {
      const query = new URLSearchParams(ctx.querystring);
      const known = resources.find(({ resource }) => resource === query.get('resource')) ?? resources[0];
      if (!query.get('scope') && known) query.set('scope', defaultScopesOf(known).join(' '));
      const isOffline = query.get('scope')?.split(' ').includes('offline_access') ?? false;
      query.delete(unasked);
      if (isOffline && !query.has('prompt')) {
        query.set('prompt', 'consent');
        query.set(unasked, '1');
      }
      ctx.querystring = query.toString();
    }
    await next();
  });
}

/** Tells what the provider did. */
export function tellEvents(provider: Provider, onEvent: (event: AuthorizationEvent) => void): void {
  provider.on('grant.success', (ctx) => {
    const { client, params } = ctx.oidc;
    const account = ctx.oidc.entities.AccessToken?.accountId;
    onEvent({
      kind: params?.['grant_type'] === 'refresh_token' ? 'refreshed' : 'token_issued',
      ...(client === undefined ? {} : { clientId: client.clientId }),
      ...(account === undefined ? {} : { account }),
    });
  });
  provider.on('registration_create.success', (_ctx, client) =>
    onEvent({ kind: 'registered', clientId: client.clientId }),
  );
  provider.on('grant.revoked', () => onEvent({ kind: 'revoked' }));
  const refused = (
    ctx: { oidc: { client?: { clientId: string } | undefined } },
    error: { error?: string },
  ): void => {
    const clientId = ctx.oidc.client?.clientId;
    onEvent({
      kind: 'refused',
      ...(clientId === undefined ? {} : { clientId }),
      ...(error.error === undefined ? {} : { error: error.error }),
    });
  };
  provider.on('grant.error', refused);
  provider.on('authorization.error', refused);
  provider.on('registration_create.error', refused);
}

/** What an operator passed in, made safe to call. */
export function quietly(onEvent: AuthorizationServerOptions['onEvent']): (event: AuthorizationEvent) => void {
  return (event) => {
    try {
      onEvent?.(event);
    } catch {
      // An audit log that fails must not change an answer.
    }
  };
}
