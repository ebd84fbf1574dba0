/**
 * When a user is asked for consent, and the grant that an answer makes.
 *
 * Invariant: no code is issued without an answer of this authorization, or a remembered one that covers it. Each
 * authorization gets a grant of its own, so revoking one leaves the others.
 */
import type { Client, Grant, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { z } from 'zod';
import type { AskedConsent, Consents } from './consents.ts';
import type { ResourceOptions, Settings } from './options.ts';
import type { OidcProvider } from './base/peer.ts';

export const requestParameters = z.object({
  client_id: z.string(),
  redirect_uri: z.string(),
  scope: z.string().optional(),
  resource: z.string().optional(),
});

export type AuthorizationParameters = z.infer<typeof requestParameters>;

/**
 * A parameter of our own: `prompt=consent` is in the request because `offline_access` needs it there, not because
 * the client wants the user to be asked again.
 */
export const unasked = 'keyturn_unasked';

export function resourceOf(
  { resources }: Pick<Settings, 'resources'>,
  { resource }: AuthorizationParameters,
): ResourceOptions | undefined {
  return resources.find((each) => each.resource === resource) ?? resources[0];
}

export function scopesOf({ scope }: AuthorizationParameters): readonly string[] {
  return (scope ?? '').split(' ').filter((each) => each !== '');
}

/** What a consent page for this request asks. */
export function askedConsent(
  resource: ResourceOptions,
  client: Client,
  asked: AuthorizationParameters,
): AskedConsent {
  return {
    clientId: client.clientId,
    clientName: client.clientName,
    redirectUris: client.redirectUris ?? [],
    redirectUri: asked.redirect_uri,
    resource: resource.resource,
    scopes: scopesOf(asked),
  };
}

/** Answers its id. `granted`: the scopes of the request that it has; all of them unless given. */
export async function makeGrant(
  provider: Provider,
  settings: Pick<Settings, 'resources'>,
  accountId: string,
  asked: AuthorizationParameters,
  granted: readonly string[] = scopesOf(asked),
): Promise<string> {
  const grant = new provider.Grant({ accountId, clientId: asked.client_id });
  const scope = granted.join(' ');
  // What was refused is not asked for again.
  const refused = scopesOf(asked)
    .filter((each) => !granted.includes(each))
    .join(' ');
  grant.addOIDCScope(scope);
  grant.rejectOIDCScope(refused);
  const resource = resourceOf(settings, asked);
  if (resource) {
    grant.addResourceScope(resource.resource, scope);
    grant.rejectResourceScope(resource.resource, refused);
  }
  return grant.save();
}

/** The provider's `loadExistingGrant`: that of the answer, or one by a remembered answer. */
export async function grantOf(
  ctx: KoaContextWithOIDC,
  settings: Settings,
  consents: Consents,
): Promise<Grant | undefined> {
  const { oidc } = ctx;
  const { provider, client, account } = oidc;
  const answered = oidc.result?.consent?.grantId;
  if (answered !== undefined) return provider.Grant.find(answered);
  const asked = requestParameters.safeParse(oidc.params);
  if (!asked.success || !client || !account || asksAnew(ctx)) return undefined;
  const resource = resourceOf(settings, asked.data);
  if (!resource) return undefined;
  const consent = askedConsent(resource, client, asked.data);
  if (!(await consents.covers(account.accountId, consent))) return undefined;
  const grant = await makeGrant(provider, settings, account.accountId, asked.data);
  // It may have been withdrawn meanwhile.
  return (await consents.covers(account.accountId, consent)) ? provider.Grant.find(grant) : undefined;
}

/**
 * The provider's own rules, but for those that ask although the answer is known. `isForwarded`: each authorization signs
 * in again, so that each grant has its own session at the other server.
 */
export function consentPolicy({ base, Check }: OidcProvider['interactionPolicy'], isForwarded: boolean) {
  const policy = base();
  const checks = policy.get('consent')?.checks;
  // OpenID Connect Core §3.1.2.1, but for a prompt that is ours.
  checks?.remove('consent_prompt');
  // RFC 8252 §8.6: `Consents` remembers no answer that goes to the user's own machine.
  checks?.remove('native_client_prompt');
  checks?.add(
    new Check('no_consent', 'the user has not consented', 'consent_required', ({ oidc }) => {
      const isAnswered = oidc.result?.consent !== undefined || oidc.entities.Grant?.jti !== undefined;
      return isAnswered ? Check.NO_NEED_TO_PROMPT : Check.REQUEST_PROMPT;
    }),
  );
  if (!isForwarded) return policy;
  policy
    .get('login')
    ?.checks.add(
      new Check('forwarded', 'each authorization signs in again', 'login_required', ({ oidc }) =>
        oidc.result?.login === undefined ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
      ),
    );
  return policy;
}

function asksAnew({ oidc }: KoaContextWithOIDC): boolean {
  return oidc.prompts.has('consent') && oidc.params?.[unasked] === undefined;
}
