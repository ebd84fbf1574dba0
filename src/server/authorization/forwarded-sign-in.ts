/**
 * One authorization that is forwarded to another authorization server, which knows this server by a single client ID.
 *
 * Invariant: nothing is forwarded, and no answer of the other server is looked at, before a user allowed this very
 * authorization in this very browser (MCP, Confused Deputy Problem). The browser shows that by a cookie
 * that no other host can set (over https). A consent serves one authorization.
 */
import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { constantTimeEqual } from '../../base/constant-time.ts';
import type { Forwarding } from './accounts/accounts.ts';
import { errorPage } from './base/pages.ts';
import { makeGrant, scopesOf, type AuthorizationParameters } from './consent-policy.ts';
import type { Settings } from './options.ts';
import { finish, send, sendOn, signInStepOf, type Step } from './step.ts';

const kind = 'ForwardConsent';

const consentSchema = z.object({ browser: z.string(), isAllowed: z.boolean() });

/** Shows the page by `showConsent`, takes its answer, or takes the other server's answer. */
export async function answerForwarded(
  step: Step,
  forwarding: Forwarding,
  parameters: AuthorizationParameters,
  showConsent: () => Promise<void>,
): Promise<void> {
  const { settings, response, form } = step;
  const isAnswer = signInStepOf(step).query.has('state');
  if (form === undefined && !isAnswer) return ask(step, showConsent);
  const consent = await consentOf(step);
  // Two tabs that were opened at once got a cookie each, and the browser keeps one: this tab asks again.
  if (consent === undefined && !isAnswer && cookieOf(step) !== undefined) return ask(step, showConsent);
  if (consent === undefined || (isAnswer && !consent.isAllowed)) {
    const said = 'This browser did not allow the app, so nothing was sent on.';
    return send(response, 403, errorPage('access_denied', said));
  }
  const facts = { clientId: parameters.client_id };
  if (form?.['decision'] === 'deny') {
    settings.onEvent({ kind: 'denied', ...facts });
    return finish(step, { error: 'access_denied', error_description: 'the user denied the request' });
  }
  if (form !== undefined) {
    if (form['decision'] !== 'allow') return ask(step, showConsent);
    await keep(step, { ...consent, isAllowed: true });
    settings.onEvent({ kind: 'consented', ...facts });
  }
  await signIn(step, forwarding, parameters);
}

async function ask(step: Step, showConsent: () => Promise<void>): Promise<void> {
  const name = cookieName(step.settings);
  // One for all tabs of a browser: a second authorization must not end the first.
  const value = cookieOf(step) ?? randomBytes(32).toString('base64url');
  await keep(step, { browser: digest(value), isAllowed: false });
  const secure = name.startsWith('__Host-') ? '; Secure' : '';
  step.response.setHeader('set-cookie', `${name}=${value}; Path=/; HttpOnly; SameSite=Lax${secure}`);
  await showConsent();
}

async function signIn(
  step: Step,
  forwarding: Forwarding,
  parameters: AuthorizationParameters,
): Promise<void> {
  const { settings, response, provider } = step;
  const clientId = parameters.client_id;
  const result = await forwarding.signIn(signInStepOf(step), { clientId, scopes: scopesOf(parameters) });
  if ('page' in result) return send(response, result.status ?? 200, result.page);
  if ('redirect' in result) return sendOn(response, result.redirect);
  if ('error' in result) {
    const { error, description, problem } = result;
    return finish(step, { error, error_description: description, problem });
  }
  const { account, scopes } = result;
  const grantId = await makeGrant(provider(), settings, account, parameters, scopes);
  await result.bind(grantId);
  settings.onEvent({ kind: 'signed_in', account, clientId });
  await leaveOtherAccount(step, account);
  await finish(step, { login: { accountId: account, remember: false }, consent: { grantId } });
}

/** A browser that was here as somebody else: the provider would ask the user to sign out first. */
async function leaveOtherAccount({ provider, interaction }: Step, account: string): Promise<void> {
  const { session } = interaction;
  if (session === undefined || session.accountId === account) return;
  const known = await provider().Session.findByUid(session.uid);
  await known?.destroy();
  const kept = await provider().Interaction.find(interaction.uid);
  if (!kept) return;
  delete kept.session;
  await kept.save(kept.exp - Math.floor(Date.now() / 1000));
}

/** What was written down when this browser got the page, or answered it; undefined: it got none. */
async function consentOf(step: Step) {
  const cookie = cookieOf(step);
  const parsed = consentSchema.safeParse((await step.storage.get(kind, step.interaction.uid))?.payload);
  if (!parsed.success || cookie === undefined) return undefined;
  return constantTimeEqual(digest(cookie), parsed.data.browser) ? parsed.data : undefined;
}

async function keep({ storage, interaction }: Step, consent: z.infer<typeof consentSchema>): Promise<void> {
  await storage.put(kind, interaction.uid, { payload: consent, expiresAt: interaction.exp });
}

/** `__Host-`: set by this host over https, and by no other (RFC 6265bis §4.1.3.2). Not for http, on this machine. */
function cookieName({ issuer }: Settings): string {
  return issuer.startsWith('https:') ? '__Host-keyturn-consent' : 'keyturn-consent';
}

function cookieOf({ request, settings }: Step): string | undefined {
  const name = cookieName(settings);
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
