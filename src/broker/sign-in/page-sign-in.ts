/**
 * A sign-in by a page: in the browser here, or in one elsewhere whose last address the person pastes back.
 *
 * Invariant: every reply passes the same checks of state and issuer, once. A client that the server refuses is replaced
 * once; after that the refusal says so.
 */
import type { BrokerParts } from '../parts.ts';
import { KeyturnError, reasonOf, RuleRefusal, shellWord, Unreachable } from '../../base/errors.ts';
import { ResponseLost } from '../../oauth/base/http.ts';
import { buildAuthorizationRequest } from '../../oauth/grants/authorization.ts';
import {
  clientRefused,
  OfflineRefused,
  openidHint,
  PromptRefused,
} from '../../oauth/grants/authorization-failure.ts';
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import type { AmbiguousIssuer, StartedAuthorization } from '../../oauth/grants/authorization.ts';
import { exchangeCode } from '../../oauth/grants/token.ts';
import type { TokenResponse } from '../../oauth/grants/token.ts';
import { overridesAt, registeredScope } from '../destination/destination.ts';
import { askedScope } from './asked-scope.ts';
import type { Grant } from '../records/grant.ts';
import type { Page } from '../loopback/loopback-page.ts';
import type { RedirectCallback } from '../loopback/loopback.ts';
import { ambiguityOf } from '../destination/mix-up.ts';
import { nobodyCame, statelessWords } from '../refusals/pending-refusals.ts';
import { prepareRedirect } from '../destination/redirect.ts';
import { giveUpClient, ifForgotten, replacingClient, useFromNowOn } from './refused-client.ts';
import type { ClientOutcome, Refused } from './refused-client.ts';
import type { SignInContext, StoreTokens } from './sign-in-context.ts';
import { signInDetails } from '../questions/starter.ts';
import type { Redirect } from '../destination/new-client.ts';

/** How long a sign-in waits for the person, in milliseconds: time for a password manager and a second factor. */
export const signInTimeout = 600_000;

export async function signInByPage(
  parts: BrokerParts,
  context: SignInContext,
  storeTokens: StoreTokens,
  opened: () => void,
  signal: AbortSignal,
): Promise<Grant> {
  return replacingClient(parts, context, (refused, isSecond) => {
    const visited = isSecond && refused ? withoutPrompts(context, refused) : context;
    return onePage({ parts, context: visited, storeTokens, opened, signal }, refused);
  });
}

/** A person who sees an error can't tell whether the server refuses the client or a prompt: neither is sent again. */
function withoutPrompts(context: SignInContext, { saidBy }: Refused): SignInContext {
  return saidBy === 'person' ? { ...context, options: { ...context.options, prompts: [] } } : context;
}

interface OnePage {
  readonly parts: BrokerParts;
  readonly context: SignInContext;
  readonly storeTokens: StoreTokens;
  readonly opened: () => void;
  readonly signal: AbortSignal;
}

type Outcome = ClientOutcome<Grant>;

/** `refused`: the client of the page before, or the one that the person wants replaced. */
async function onePage(page: OnePage, refused: Refused | undefined): Promise<Outcome> {
  const { parts, context, signal } = page;
  const { request, destination } = context;
  const http = parts.network(request.endpoint);
  const wanted = { ...registeredScope(context), isByPerson: !request.isAutomatic };
  const redirect = await prepareRedirect(parts, destination.server, http, wanted, refused);
  try {
    // Kept while the page is open: a client that is removed here meanwhile still gets answers from its issuer.
    const ambiguity = ambiguityOf(parts.registrations.all(), redirect.record);
    const scope = askedScope(context, redirect.record);
    const { url, started } = await authorizationRequest(parts, { ...context, scope }, redirect);
    page.opened();
    const shown = { url, started, redirect, refused };
    const callback = await noted(parts, redirect, visit(parts, context, shown, signal));
    if (callback === 'errorPage') return await instead(page, shown, errorPage(destination.server), 'person');
    return await finish({ ...page, context: { ...context, ambiguity } }, { ...shown, callback });
  } finally {
    await redirect.receiver.close();
  }
}

/** Notes whether anybody came back from the page. */
async function noted<T>(
  { registrations: { unanswered } }: BrokerParts,
  { record, isNew }: Redirect,
  visiting: Promise<T>,
): Promise<T> {
  try {
    const reply = await visiting;
    unanswered.delete(record.id);
    return reply;
  } catch (error) {
    // A server can't have forgotten a client of a moment ago. A withdrawn page says nothing.
    if (!isNew && reasonOf(error) !== 'conflict') unanswered.add(record.id);
    throw error;
  }
}

/** Throws `error` where no other client may take the place of this one. */
function instead(
  { parts, context }: Pick<OnePage, 'parts' | 'context'>,
  { redirect, refused }: Shown,
  error: unknown,
  saidBy: Refused['saidBy'],
): Promise<ClientOutcome<never>> {
  const { server } = context.destination;
  const useless = { identity: redirect, server, before: refused, error, saidBy };
  return giveUpClient(parts.registrations, useless);
}

/** OAuth 2.1 §4.1.2.1: a server that doesn't know the client tells its user, and redirects nowhere. */
function errorPage(server: AuthorizationServer): KeyturnError {
  return clientRefused(server, 'shows an error where its sign-in page should be');
}

function authorizationRequest(
  parts: BrokerParts,
  { request, destination, scope, proofKey, options: { prompts, loginHint } }: SignInContext,
  { record, receiver, isNew }: Redirect,
): Promise<{ readonly url: string; readonly started: StartedAuthorization }> {
  const { server, resource } = destination;
  return buildAuthorizationRequest({
    server,
    registration: record.registration,
    isNewClient: isNew,
    resource,
    redirectUri: receiver.redirectUri,
    overrides: overridesAt(parts, request.endpoint, destination),
    scope,
    loginHint,
    ...(prompts.length === 0 ? {} : { prompt: prompts.join(' ') }),
    ...(proofKey ? { proofKey } : {}),
  });
}

/** A page that is open. */
interface Shown {
  readonly url: string;
  readonly started: StartedAuthorization;
  readonly redirect: Redirect;
  /** The client of the page before. */
  readonly refused: Refused | undefined;
}

/**
 * Shows the sign-in to the person and waits for the browser, for the address it ended at, or for word of an error page.
 */
async function visit(
  parts: BrokerParts,
  context: SignInContext,
  { url, started, redirect, refused: before }: Shown,
  signal: AbortSignal,
): Promise<RedirectCallback | 'errorPage'> {
  // No page for a program that went away in the meantime.
  signal.throwIfAborted();
  const { request, destination } = context;
  const { server, formerIssuer } = destination;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const told = Promise.withResolvers<RedirectCallback | 'errorPage'>();
  const startUrl = request.method === 'browser' ? redirect.receiver.leadTo(url, either) : undefined;
  const hint = openidHint(server, started.scope);
  let stateless: string | undefined;
  let browserError: string | undefined;
  const question = {
    kind: 'login',
    endpoint: request.endpoint,
    issuer: server.issuer,
    registrationId: redirect.record.id,
    url,
    hint,
    ...(before === undefined ? ifForgotten(redirect, server) : {}),
    ...signInDetails(request),
    startUrl,
    formerIssuer,
    ...(before === undefined ? {} : { isNewClient: true as const }),
    get stateless() {
      return stateless;
    },
    get browserError() {
      return browserError;
    },
    paste: (address: string) => told.resolve({ url: pastedReply(address, started), show: () => undefined }),
    showsError: () => told.resolve('errorPage'),
  } as const;
  const refused = parts.interactions.ask(question, either).then((): never => {
    throw calledOff(server.issuer, request.endpoint);
  });
  const tooLate = parts.clock.sleep(signInTimeout, either).then((): never => {
    throw nobodyCame(question);
  });
  const callback = redirect.receiver.receive(started.state, either, (error) => {
    if (stateless !== undefined) return; // any web page can send one: said once
    stateless = error;
    parts.interactions.changed();
  });
  for (const pending of [refused, tooLate, callback]) pending.catch(() => undefined);
  try {
    // Without a browser the person still has the URL: the question carries it. Not waited for: one
    // that takes long to start must not keep a program that went away from calling the sign-in off.
    if (startUrl !== undefined)
      parts.openBrowser(startUrl).catch((error: unknown) => {
        browserError = error instanceof Error ? error.message : 'No browser was opened.';
        parts.interactions.changed();
      });
    return await Promise.race([callback, told.promise, refused, tooLate]);
  } finally {
    over.abort();
  }
}

/** The address must be of the sign-in that waits; a wrong one is refused here and the sign-in goes on. */
function pastedReply(address: string, started: StartedAuthorization): URL {
  const url = URL.parse(address.trim());
  const expected = new URL(started.redirectUri);
  if (url?.origin !== expected.origin || url.pathname !== expected.pathname) {
    throw new KeyturnError('invalid_request', 'That is not the address a sign-in ends at.', {
      hint: `Paste the whole address from the browser's address bar; it begins with ${expected.origin}${expected.pathname}?`,
    });
  }
  const states = url.searchParams.getAll('state');
  if (states.length === 1 && states[0] === started.state) return url;
  if (states.length === 0) throw withoutState(url.searchParams.get('error') ?? '');
  throw new RuleRefusal('state_mismatch', 'That address belongs to another sign-in.', {
    rule: 'RFC 6749 §10.12, spec Mandatory security requirements 6',
    hint: 'Paste the address that this sign-in ended at, or start again.',
  });
}

function withoutState(error: string): RuleRefusal {
  return new RuleRefusal('state_mismatch', statelessWords(error), {
    rule: 'RFC 6749 §10.12, spec Mandatory security requirements 6',
    hint: 'Paste the whole address. If the server left the state out, tell its operator.',
  });
}

interface OpenedContext extends SignInContext {
  /** The issuer whose answers could be confused with this one's when its page opened. */
  readonly ambiguity: AmbiguousIssuer | undefined;
}

interface Arrival extends Shown {
  readonly callback: RedirectCallback;
}

async function finish(
  page: Omit<OnePage, 'context'> & { readonly context: OpenedContext },
  arrival: Arrival,
): Promise<Outcome> {
  const { parts, context, storeTokens } = page;
  const { redirect, callback, refused } = arrival;
  const { record } = redirect;
  let isShown = false;
  const show = (what: Page): void => {
    // One answer to one request. If the user is asked in Keyturn, the page has said so already.
    if (!isShown) callback.show(what);
    isShown = true;
  };
  try {
    const answer = await redeem(parts, context, arrival, page.signal);
    const asked = arrival.started.scope;
    const grant = await storeTokens({ record, answer, asked, asking: () => show('asking') });
    await useFromNowOn(parts, record, refused);
    show('done');
    return { value: grant };
  } catch (error) {
    if (reasonOf(error) !== 'client_rejected') {
      show(pageFor(error));
      throw error;
    }
    const outcome = instead(page, arrival, error, 'server');
    show(
      await outcome.then(
        () => 'again' as const,
        () => 'failed' as const,
      ),
    );
    return outcome;
  }
}

function pageFor(error: unknown): Page {
  // The sign-in goes on without the prompt, or without the scope.
  if (error instanceof PromptRefused || error instanceof OfflineRefused) return 'again';
  return reasonOf(error) === 'account_mismatch' ? 'otherAccount' : 'failed';
}

async function redeem(
  parts: BrokerParts,
  { request, destination, ambiguity: before }: OpenedContext,
  arrival: Arrival,
  signal: AbortSignal,
): Promise<TokenResponse> {
  const { started, redirect, callback } = arrival;
  const { record } = redirect;
  const { server } = destination;
  const clientSecret = await parts.registrations.secret(record);
  // Checked again: this home may have got other clients while the page was open.
  const ambiguity = before ?? ambiguityOf(parts.registrations.all(), record);
  requireUnchanged(parts, arrival);
  const exchange = (): Promise<TokenResponse> =>
    exchangeCode(
      {
        started,
        server,
        registration: record.registration,
        clientSecret,
        callbackUrl: callback.url,
        ambiguity,
      },
      parts.network(request.endpoint),
    );
  try {
    return await exchange();
  } catch (error) {
    const wait = shortWait(error);
    if (wait === undefined) throw error;
    await parts.clock.sleep(wait * 1000, signal);
    return exchange();
  }
}

/** Seconds. RFC 6749 §4.1.2: a code lives ten minutes at most; with some servers it lives a minute. */
const longestWait = 30;

/** Seconds until the code may be sent once more: the server didn't serve the request, and says when it will. */
function shortWait(error: unknown): number | undefined {
  if (!(error instanceof Unreachable) || error instanceof ResponseLost) return undefined;
  return error.retryAfter !== undefined && error.retryAfter <= longestWait ? error.retryAfter : undefined;
}

/** RFC 9700 §4.4.2: the answer arrived at the redirect URI of the client that asked, and that client is still ours. */
function requireUnchanged({ registrations }: BrokerParts, { started, redirect, callback }: Arrival): void {
  const { record } = redirect;
  const now = registrations.byId(record.id)?.registration;
  const { clientId, redirectUri } = record.registration;
  const isSame = now?.clientId === clientId && now.redirectUri === redirectUri;
  const [at, wanted] = [callback.url, new URL(started.redirectUri)];
  if (isSame && at.origin === wanted.origin && at.pathname === wanted.pathname) return;
  throw new KeyturnError('login_failed', 'The client of this sign-in was changed while its page was open.', {
    rule: 'RFC 9700 §4.4.2: an answer counts at the redirect URI of its own client',
    hint: 'Start the sign-in again.',
  });
}

export function calledOff(issuer: string, endpoint: string): KeyturnError {
  return new KeyturnError('login_failed', `The sign-in at ${issuer} was cancelled.`, {
    hint: `Start it again with: keyturn login ${shellWord(endpoint)}`,
  });
}
