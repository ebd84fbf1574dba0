/**
 * A sign-in by a page: in the browser here, or in one elsewhere whose last address the user pastes back.
 *
 * Invariant: every reply passes the same checks of state and issuer, once. A client that the server refuses is replaced
 * once; after that the refusal says so.
 */
import type { BrokerParts } from '../parts.ts';
import { reasonOf } from '../../base/errors.ts';
import { buildAuthorizationRequest } from '../../oauth/grants/authorization.ts';
import {
  clientRefused,
  OfflineRefused,
  openidHint,
  PromptRefused,
} from '../../oauth/grants/authorization-failure.ts';
import type { StartedAuthorization } from '../../oauth/grants/authorization.ts';
import { exceptionsAt, registeredScope } from '../destination/destination.ts';
import { askedScope } from './asked-scope.ts';
import type { SignIn } from '../records/sign-in.ts';
import type { Page } from '../loopback/loopback-page.ts';
import type { RedirectCallback } from '../loopback/loopback.ts';
import { ambiguityOf } from '../destination/mix-up.ts';
import { calledOff, loginAgain, nobodyCame } from '../refusals/pending-refusals.ts';
import { prepareRedirect } from '../destination/redirect.ts';
import { pastedReply, redeem } from './page-reply.ts';
import type { OpenedContext } from './page-reply.ts';
import { giveUpClient, ifForgotten, replacingClient, useFromNowOn } from './refused-client.ts';
import type { ClientOutcome, ClientRefusal } from './refused-client.ts';
import type { SignInContext, StoreTokens } from './sign-in-context.ts';
import { signInDetails } from '../approval-requests/starter.ts';
import type { Redirect } from '../destination/new-client.ts';

/** How long a sign-in waits for the user, in milliseconds: time for a password manager and a second factor. */
export const signInTimeout = 600_000;

export async function signInByPage(
  parts: BrokerParts,
  context: SignInContext,
  storeTokens: StoreTokens,
  opened: () => void,
  signal: AbortSignal,
): Promise<SignIn> {
  return replacingClient(parts, context, (refused, isSecond) => {
    const visited = isSecond && refused ? withoutPrompts(context, refused) : context;
    return onePage({ parts, context: visited, storeTokens, opened, signal }, refused);
  });
}

/** A user who sees an error can't tell whether the server refuses the client or a prompt: neither is sent again. */
function withoutPrompts(context: SignInContext, { saidBy }: ClientRefusal): SignInContext {
  return saidBy === 'user' ? { ...context, options: { ...context.options, prompts: [] } } : context;
}

interface OnePage {
  readonly parts: BrokerParts;
  readonly context: SignInContext;
  readonly storeTokens: StoreTokens;
  readonly opened: () => void;
  readonly signal: AbortSignal;
}

type Outcome = ClientOutcome<SignIn>;

/** `refused`: the client of the page before, or the one that the user wants replaced. */
async function onePage(page: OnePage, refused: ClientRefusal | undefined): Promise<Outcome> {
  const { parts, context } = page;
  const { request, destination } = context;
  const http = parts.network(request.endpoint);
  const wanted = { ...registeredScope(destination, context.scope), isByUser: !request.isAutomatic };
  const redirect = await prepareRedirect(parts, destination.server, http, wanted, refused);
  try {
    // Kept while the page is open: a client that is removed here meanwhile still gets answers from its issuer.
    const ambiguity = ambiguityOf(parts.registrations.all(), redirect.record);
    const scope = askedScope(context, redirect.record);
    const { url, started } = await authorizationRequest(parts, { ...context, scope }, redirect);
    const shown = { url, started, redirect, refused };
    const isPasted = request.method === 'paste';
    const callback = await noted(parts, { ...redirect, isPasted }, visit(page, shown));
    if (callback === 'errorPage') {
      // OAuth 2.1 §4.1.2.1: a server that doesn't know the client tells its user, and redirects nowhere.
      const error = clientRefused(destination.server, 'shows an error where its sign-in page should be');
      return await instead(page, shown, error, 'user');
    }
    return await finish({ ...page, context: { ...context, ambiguity } }, { ...shown, callback });
  } finally {
    await redirect.receiver.close();
  }
}

/** Notes whether anybody came back from the page. */
async function noted<T>(
  { registrations: { unanswered } }: BrokerParts,
  { record, isNew, isPasted }: Pick<Redirect, 'record' | 'isNew'> & { readonly isPasted: boolean },
  visiting: Promise<T>,
): Promise<T> {
  try {
    const reply = await visiting;
    unanswered.delete(record.id);
    return reply;
  } catch (error) {
    // A server can't have forgotten a client of a moment ago. A withdrawn page says nothing, and one whose address you
    // were to paste little: the terminal shows the command for another client.
    if (!isNew && !isPasted && reasonOf(error) !== 'conflict') unanswered.add(record.id);
    throw error;
  }
}

/** Throws `error` if no other client may take the place of this one. */
function instead(
  { parts, context }: Pick<OnePage, 'parts' | 'context'>,
  { redirect, refused }: Shown,
  error: unknown,
  saidBy: ClientRefusal['saidBy'],
): Promise<ClientOutcome<never>> {
  const { server } = context.destination;
  const useless = { identity: redirect, server, before: refused, error, saidBy };
  return giveUpClient(parts.registrations, useless);
}

function authorizationRequest(
  parts: BrokerParts,
  { request, destination, scope, dpopKey, options: { prompts, loginHint } }: SignInContext,
  { record, receiver, isNew }: Redirect,
): Promise<{ readonly url: string; readonly started: StartedAuthorization }> {
  const { server, resource } = destination;
  return buildAuthorizationRequest({
    server,
    registration: record.registration,
    isNewClient: isNew,
    resource,
    redirectUri: receiver.redirectUri,
    exceptions: exceptionsAt(parts, request.endpoint, destination),
    scope,
    loginHint,
    prompt: prompts.join(' ') || undefined,
    dpopKey,
  });
}

interface Shown {
  readonly url: string;
  readonly started: StartedAuthorization;
  readonly redirect: Redirect;
  /** The client of the page before. */
  readonly refused: ClientRefusal | undefined;
}

/** Shows the sign-in to the user and waits for the browser, for the address it ended at, or for word of an error page. */
async function visit(
  { parts, context, opened, signal }: OnePage,
  { url, started, redirect, refused: before }: Shown,
): Promise<RedirectCallback | 'errorPage'> {
  // No page for an app that went away in the meantime.
  signal.throwIfAborted();
  const { request, destination } = context;
  const { server, formerIssuer } = destination;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const told = Promise.withResolvers<RedirectCallback | 'errorPage'>();
  const startUrl = request.method === 'browser' ? redirect.receiver.leadTo(url, either) : undefined;
  const asked = { kind: 'signIn', endpoint: request.endpoint, startUrl, ...signInDetails(request) } as const;
  let stateless: string | undefined;
  let browserError: string | undefined;
  const question = {
    ...asked,
    issuer: server.issuer,
    registrationId: redirect.record.id,
    url,
    hint: openidHint(server, started.scope, (option) => loginAgain(asked, option)),
    ifForgotten: before === undefined ? ifForgotten(redirect, server) : undefined,
    formerIssuer,
    isNewClient: before === undefined ? undefined : true,
    get stateless() {
      return stateless;
    },
    get browserError() {
      return browserError;
    },
    paste: (address: string) => told.resolve({ url: pastedReply(address, started), show: () => undefined }),
    showsError: () => told.resolve('errorPage'),
  } as const;
  const tooLate = parts.clock.sleep(signInTimeout, either).then((): never => {
    throw nobodyCame(question);
  });
  const callback = redirect.receiver.receive(started.state, either, (error) => {
    if (stateless !== undefined) return; // any web page can send one: said once
    stateless = error;
    parts.approvalRequests.changed();
  });
  const open = (): void => {
    opened();
    // Without a browser the user still has the URL: the question carries it. Not waited for: one
    // that takes long to start must not keep an app that went away from calling the sign-in off.
    if (startUrl !== undefined)
      parts.openBrowser(startUrl).catch((error: unknown) => {
        browserError = error instanceof Error ? error.message : 'No browser was opened.';
        parts.approvalRequests.changed();
      });
  };
  const refused = parts.approvalRequests.ask(question, either, open).then((): never => {
    throw calledOff(question);
  });
  for (const pending of [refused, tooLate, callback]) pending.catch(() => undefined);
  try {
    return await Promise.race([callback, told.promise, refused, tooLate]);
  } finally {
    over.abort();
  }
}

async function finish(
  page: Omit<OnePage, 'context'> & { readonly context: OpenedContext },
  arrival: Shown & { readonly callback: RedirectCallback },
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
    const answer = await redeem(parts, context, { ...arrival, record }, page.signal);
    const asked = arrival.started.scope;
    const signIn = await storeTokens({ record, answer, asked, asking: () => show('asking') });
    await useFromNowOn(parts, record, refused);
    show('done');
    return { value: signIn };
  } catch (error) {
    if (reasonOf(error) !== 'client_rejected') {
      show(pageFor(error));
      throw error;
    }
    const outcome = instead(page, arrival, error, 'server');
    await outcome.then(
      () => show('again'),
      () => show('failed'),
    );
    return outcome;
  }
}

function pageFor(error: unknown): Page {
  // The sign-in goes on without the prompt, or without the scope.
  if (error instanceof PromptRefused || error instanceof OfflineRefused) return 'again';
  return reasonOf(error) === 'account_mismatch' ? 'otherAccount' : 'failed';
}
