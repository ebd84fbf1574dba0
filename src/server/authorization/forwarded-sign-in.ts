/**
 * One authorization that is forwarded to another authorization server, which knows this server by a single client ID.
 *
 * Invariant: nothing is forwarded, and no answer of the other server is looked at, before a user allowed this very
 * authorization in this very browser (spec, Mandatory security requirements 12). The browser shows that by a cookie
 * that no other host can set. A consent serves one authorization.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Interaction, Provider } from 'oidc-provider';
import { z } from 'zod';
import { constantTimeEqual } from '../../base/constant-time.ts';
import type { Storage } from '../storage/storage.ts';
import type { Forwarding, SignInStep } from './accounts/accounts.ts';
import { errorPage } from './base/pages.ts';
import { makeGrant, scopesOf } from './consent-policy.ts';
import type { AuthorizationParameters } from './consent-policy.ts';
import type { Settings } from './options.ts';

type InteractionResult = Parameters<Provider['interactionFinished']>[2];

export interface ForwardedParts {
  readonly settings: Settings;
  readonly storage: Storage;
  readonly forwarding: Forwarding;
  readonly provider: Provider;
  readonly interaction: Interaction;
  readonly asked: SignInStep;
  readonly parameters: AuthorizationParameters;
  /** Shows the consent page, with this cookie. */
  readonly showConsent: (cookie: string) => Promise<void>;
  readonly showPage: (status: number, page: string) => void;
  readonly redirect: (location: string) => void;
  readonly finish: (result: InteractionResult) => Promise<void>;
}

const kind = 'ForwardConsent';

const consentSchema = z.object({ browser: z.string(), isAllowed: z.boolean() });

/** Shows the page, takes its answer, or takes the other server's answer. */
export async function answerForwarded(parts: ForwardedParts): Promise<void> {
  const { asked, settings, parameters } = parts;
  const isAnswer = asked.query.has('state');
  if (asked.form === undefined && !isAnswer) return ask(parts);
  const consent = await consentOf(parts);
  // Two tabs that were opened at once got a cookie each, and the browser keeps one: this tab asks again.
  if (consent === undefined && !isAnswer && cookieOf(asked, cookieName(settings)) !== undefined)
    return ask(parts);
  if (consent === undefined || (isAnswer && !consent.isAllowed)) {
    const said = 'This browser did not allow the app, so nothing was sent on.';
    return parts.showPage(403, errorPage('access_denied', said));
  }
  const facts = { clientId: parameters.client_id };
  if (asked.form?.['decision'] === 'deny') {
    settings.onEvent({ kind: 'denied', ...facts });
    return parts.finish({ error: 'access_denied', error_description: 'the user denied the request' });
  }
  if (asked.form !== undefined) {
    if (asked.form['decision'] !== 'allow') return ask(parts);
    await keep(parts, { ...consent, isAllowed: true });
    settings.onEvent({ kind: 'consented', ...facts });
  }
  await signIn(parts);
}

async function ask(parts: ForwardedParts): Promise<void> {
  const { settings, asked } = parts;
  const name = cookieName(settings);
  // One for all tabs of a browser: a second authorization must not end the first.
  const known = cookieOf(asked, name);
  const value = known ?? randomBytes(32).toString('base64url');
  await keep(parts, { browser: digest(value), isAllowed: false });
  const secure = name.startsWith('__Host-') ? '; Secure' : '';
  await parts.showConsent(`${name}=${value}; Path=/; HttpOnly; SameSite=Lax${secure}`);
}

async function signIn(parts: ForwardedParts): Promise<void> {
  const { forwarding, asked, parameters, provider, settings } = parts;
  const clientId = parameters.client_id;
  const result = await forwarding.signIn(asked, { clientId, scopes: scopesOf(parameters) });
  if ('page' in result) return parts.showPage(result.status ?? 200, result.page);
  if ('redirect' in result) return parts.redirect(result.redirect);
  if ('error' in result) {
    const { error, description, problem } = result;
    return parts.finish({ error, error_description: description, problem });
  }
  const { account, scopes } = result;
  const grantId = await makeGrant(provider, settings, account, parameters, scopes);
  await result.bind(grantId);
  settings.onEvent({ kind: 'signed_in', account, clientId });
  await leaveOtherAccount(parts, account);
  await parts.finish({ login: { accountId: account, remember: false }, consent: { grantId } });
}

/** A browser that was here as somebody else: the provider would ask the user to sign out first. */
async function leaveOtherAccount({ provider, interaction }: ForwardedParts, account: string): Promise<void> {
  const { session } = interaction;
  if (session === undefined || session.accountId === account) return;
  const known = await provider.Session.findByUid(session.uid);
  await known?.destroy();
  const kept = await provider.Interaction.find(interaction.uid);
  if (!kept) return;
  delete kept.session;
  await kept.save(kept.exp - Math.floor(Date.now() / 1000));
}

/** What this browser answered; undefined: nothing. */
async function consentOf({ storage, interaction, asked, settings }: ForwardedParts) {
  const cookie = cookieOf(asked, cookieName(settings));
  const parsed = consentSchema.safeParse((await storage.get(kind, interaction.uid))?.payload);
  if (!parsed.success || cookie === undefined) return undefined;
  return constantTimeEqual(digest(cookie), parsed.data.browser) ? parsed.data : undefined;
}

async function keep(
  { storage, interaction }: ForwardedParts,
  consent: z.infer<typeof consentSchema>,
): Promise<void> {
  await storage.put(kind, interaction.uid, { payload: consent, expiresAt: interaction.exp });
}

/** `__Host-`: set by this host over https, and by no other (RFC 6265bis §4.1.3.2). Not for http, on this machine. */
function cookieName({ issuer }: Settings): string {
  return issuer.startsWith('https:') ? '__Host-keyturn-consent' : 'keyturn-consent';
}

function cookieOf({ request }: SignInStep, name: string): string | undefined {
  const found = (request.headers.cookie ?? '')
    .split(';')
    .map((each) => each.trim())
    .filter((each) => each.startsWith(`${name}=`));
  const value = found[0]?.slice(name.length + 1);
  // Two of one name: somebody set the other.
  return found.length === 1 && value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined;
}

function digest(value: string): string {
  return createHash('sha256').update(value).digest('base64url');
}
