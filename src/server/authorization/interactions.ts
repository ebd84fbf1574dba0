/**
 * The user's side of an authorization: sign-in, then consent.
 *
 * Invariant: an answer counts only from the browser that the authorization began in (the provider's signed cookie),
 * from a page of ours (the form token, and what the browser says of the sender), and for the authorization that the
 * page showed. Each consent makes a grant of its own.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Client, Interaction } from 'oidc-provider';
import { z } from 'zod';
import { constantTimeEqual } from '../../base/constant-time.ts';
import { KeyturnError } from '../../base/errors.ts';
import { readBody } from '../node-request.ts';
import type { Forwarding, SignInResult } from './accounts/accounts.ts';
import type { ResourceOptions } from './options.ts';
import { askedConsent, makeGrant, requestParameters, resourceOf, scopesOf } from './consent-policy.ts';
import type { AuthorizationParameters } from './consent-policy.ts';
import { consentPage, errorPage } from './base/pages.ts';
import { answerForwarded } from './forwarded-sign-in.ts';
import { defaultScopesOf, isAccount } from './provider-settings.ts';
import { isLocal } from './clients/redirect.ts';
import { actionOf, finish, formTokenOf, send, sendOn, signInStepOf, tokenField } from './step.ts';
import type { InteractionParts, Step } from './step.ts';

/** Bytes. A form of ours holds a few short fields. */
const maxFormLength = 8192;

/** Serves `/interaction/…`. A request that belongs to no waiting authorization gets a page that says so. */
export async function answerInteraction(
  parts: InteractionParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let interaction: Interaction;
  try {
    interaction = await parts.provider().interactionDetails(request, response);
  } catch {
    const problem = 'no sign-in is waiting in this browser, which sent no cookie of one that the storage has';
    parts.settings.onEvent({ kind: 'refused', error: 'invalid_request', problem });
    const said = 'No sign-in is waiting in this browser. It may have taken too long, or have ended already.';
    return send(response, 400, errorPage('invalid_request', said));
  }
  if (request.method !== 'GET' && request.method !== 'POST')
    return send(response, 405, errorPage('invalid_request', 'This page takes GET and POST only.'));
  const form = request.method === 'POST' ? await readForm(request) : undefined;
  const problem = form && formProblem(parts, request, interaction, form);
  if (problem !== undefined) {
    const { client_id: clientId } = requestParameters.parse(interaction.params);
    parts.settings.onEvent({ kind: 'refused', clientId, error: 'invalid_request', problem });
    const said = 'The form was not sent from this server’s page.';
    return send(response, 403, errorPage('invalid_request', said));
  }
  const step = { ...parts, request, response, interaction, form };
  if (parts.settings.accounts.forwarding) return forward(step, parts.settings.accounts.forwarding);
  await (interaction.prompt.name === 'login' ? signIn(step) : consent(step));
}

/** Consent and sign-in in one, for accounts of another authorization server. */
async function forward(step: Step, forwarding: Forwarding): Promise<void> {
  const question = await questionOf(step);
  if (!question) return;
  const ask = async (): Promise<void> => showConsent(step, question, { nextHost: forwarding.host });
  await answerForwarded(step, forwarding, question.asked, ask);
}

/** What the author's own sign-in answers, if it is one of the three. */
function requireResult(result: SignInResult): SignInResult {
  const { success } = signInResult.safeParse(result);
  if (success) return result;
  throw new KeyturnError('internal', 'accounts.signIn answered no page, redirect or account.');
}

const signInResult = z.union([
  z.object({ page: z.string() }),
  z.object({ redirect: z.string() }),
  z.object({ account: z.string().min(1) }),
]);

async function signIn(step: Step): Promise<void> {
  const { settings, response, interaction } = step;
  const result = requireResult(await settings.accounts.signIn(signInStepOf(step)));
  const clientId = String(interaction.params['client_id']);
  if ('page' in result) {
    const { page, status = 200, problem } = result;
    if (problem !== undefined) settings.onEvent({ kind: 'refused', clientId, problem });
    return send(response, status, page);
  }
  if ('redirect' in result) return sendOn(response, result.redirect);
  if (!(await isAccount(settings, result.account))) {
    const problem = 'the account is not known, or has the id of a machine client';
    return finish(step, { error: 'access_denied', error_description: 'no such account', problem });
  }
  settings.onEvent({ kind: 'signed_in', account: result.account, clientId });
  if (result.name !== undefined) {
    const expiresAt = Math.floor(settings.now() / 1000) + settings.lifetimes.session;
    await step.storage.put(nameKind, result.account, { payload: { name: result.name }, expiresAt });
  }
  await finish(step, { login: { accountId: result.account } });
}

const nameKind = 'AccountName';

async function nameOf({ storage }: Step, account: string): Promise<string> {
  const kept = await storage.get(nameKind, account);
  return typeof kept?.payload['name'] === 'string' ? kept.payload['name'] : account;
}

async function consent(step: Step): Promise<void> {
  const { settings, interaction, form } = step;
  const question = await questionOf(step);
  if (!question) return;
  const account = interaction.session?.accountId ?? '';
  const facts = { clientId: question.client.clientId, account };
  const asked = askedConsent(question.resource, question.client, question.asked);
  if (form?.['decision'] === 'deny') {
    await step.consents.forget(account, asked);
    settings.onEvent({ kind: 'denied', ...facts });
    await finish(step, { error: 'access_denied', error_description: 'the user denied the request' });
  } else if (form?.['decision'] === 'allow') {
    const grantId = await makeGrant(step.provider(), settings, account, question.asked);
    await step.consents.remember(account, asked);
    settings.onEvent({ kind: 'consented', ...facts });
    await finish(step, { consent: { grantId } });
  } else {
    await showConsent(step, question, { account });
  }
}

const unknownClient = errorPage('invalid_client', 'The app is no longer known here.');

/** The client's document or registration was read again since the request, and may have changed. */
const droppedRedirect = errorPage(
  'invalid_request',
  'The app no longer takes answers at the address that it named.',
);

/** What the client asks. Undefined: it can't be asked for, and the page says so. */
async function questionOf({
  settings,
  response,
  interaction,
  provider,
}: Step): Promise<Question | undefined> {
  const asked = requestParameters.parse(interaction.params);
  const client = await provider().Client.find(asked.client_id);
  const resource = resourceOf(settings, asked);
  if (!client || !resource) send(response, 400, unknownClient);
  else if (!client.redirectUriAllowed(asked.redirect_uri)) send(response, 400, droppedRedirect);
  else return { client, resource, asked };
  return undefined;
}

interface Question {
  readonly client: Client;
  readonly resource: ResourceOptions;
  readonly asked: AuthorizationParameters;
}

/** `account`: of who signed in. Undefined: the user signs in afterwards, at `nextHost`. */
async function showConsent(
  step: Step,
  { client, resource, asked }: Question,
  { account, nextHost }: { readonly account?: string; readonly nextHost?: string },
): Promise<void> {
  const { settings, response, interaction } = step;
  const documentHost = documentHostOf(client);
  const isRenewed = client.grantTypeAllowed('refresh_token');
  const scopes = asked.scope === undefined ? defaultScopesOf(resource) : scopesOf(asked);
  send(
    response,
    200,
    consentPage({
      action: actionOf(step),
      formToken: [tokenField, formTokenOf(step.secret, interaction)],
      client: client.clientName ?? client.clientId,
      isSelfNamed: !settings.clients.some(({ clientId }) => clientId === client.clientId),
      documentHost,
      account: account === undefined ? undefined : await nameOf(step, account),
      nextHost,
      redirectHost: new URL(asked.redirect_uri).host,
      isThisMachine: isLocal(asked.redirect_uri),
      isLocalOnly: (client.redirectUris ?? []).every(isLocal),
      lasts: isRenewed ? settings.lifetimes.refreshToken : settings.lifetimes.accessToken,
      isRenewed,
      resource: resource.name ?? new URL(resource.resource).host,
      resourceUri: resource.resource,
      scopes: scopes.map((scope) => ({ scope, words: wordsOf(resource, scope) })),
    }),
  );
}

function wordsOf({ scopes }: ResourceOptions, scope: string): string {
  for (const known of [scopes, words]) if (Object.hasOwn(known, scope)) return known[scope] ?? '';
  return 'Use what this scope names:';
}

/** Scopes that every server has. */
const words: Readonly<Record<string, string>> = {
  openid: 'Know which account you use',
  offline_access: 'Keep its access while you are away',
};

function documentHostOf({ clientId }: Client): string | undefined {
  return clientId.startsWith('https://') ? URL.parse(clientId)?.host : undefined;
}

/** Undefined: it was sent from a page of ours. */
function formProblem(
  { settings, secret }: InteractionParts,
  { headers }: IncomingMessage,
  interaction: Interaction,
  form: Readonly<Record<string, string>>,
): string | undefined {
  // Browsers name the page's origin in each POST; programs name none.
  const { origin = new URL(settings.issuer).origin, 'sec-fetch-site': site = 'same-origin' } = headers;
  if (origin !== new URL(settings.issuer).origin || site !== 'same-origin')
    return 'the form came from a page of another origin than the issuer’s';
  const isGiven = constantTimeEqual(form[tokenField] ?? '', formTokenOf(secret, interaction));
  return isGiven
    ? undefined
    : `the form lacks the field ${tokenField} (step.formToken) of its page, or has an older page’s`;
}

/** No fields where it is longer than any form of ours. */
async function readForm(request: IncomingMessage): Promise<Record<string, string>> {
  const bytes = await readBody(request, maxFormLength);
  return Object.fromEntries(new URLSearchParams(new TextDecoder().decode(bytes)));
}
