/**
 * A sign-in by a page: the browser here, or one elsewhere whose last address the person pastes back.
 *
 * Invariant: whichever way the reply comes, it passes the same checks of state and issuer, once; a
 * registration that the server has forgotten is replaced once, then the user is told.
 */
import { KeyturnError, reasonOf, RuleRefusal } from '../errors.ts';
import { buildAuthorizationRequest, processAuthorizationResponse } from '../oauth/authorization.ts';
import type { Ambiguity, AuthorizationAttempt } from '../oauth/authorization.ts';
import { exchangeCode } from '../oauth/token.ts';
import type { TokenAnswer } from '../oauth/token.ts';
import { namesOf, registeredScope } from './destination.ts';
import type { Grant } from './grant.ts';
import type { Page } from './loopback-page.ts';
import type { Reply } from './loopback.ts';
import { ambiguityOf } from './mix-up.ts';
import { prepareRedirect } from './redirect.ts';
import type { Redirect } from './redirect.ts';
import type { RegistrationRecord } from './registrations.ts';
import type { Errand, Keep, SignInParts } from './errand.ts';
import { askedFor } from './starter.ts';

/** How long a sign-in waits for the person, in milliseconds: time for a password manager and a second factor. */
export const signInPatience = 600_000;

export async function signInByPage(
  parts: SignInParts,
  errand: Errand,
  keep: Keep,
  opened: () => void,
  signal: AbortSignal,
): Promise<Grant> {
  const first = await onePage(parts, errand, keep, opened, signal);
  if ('grant' in first) return first.grant;
  // Evicted by now: this one registers anew.
  const second = await onePage(parts, errand, keep, opened, signal);
  if ('grant' in second) return second.grant;
  throw second.rejected;
}

/** `rejected`: the server does not know a registration of ours that it gave itself. */
async function onePage(
  parts: SignInParts,
  errand: Errand,
  keep: Keep,
  opened: () => void,
  signal: AbortSignal,
): Promise<{ grant: Grant } | { rejected: unknown }> {
  const { request, destination } = errand;
  const redirect = await prepareRedirect(
    parts,
    destination.server,
    parts.network(request.endpoint),
    registeredScope(errand),
  );
  try {
    // Kept while the page is open: a client that is removed here meanwhile still gets answers from its issuer.
    const ambiguity = ambiguityOf(parts.registrations.all(), redirect.record);
    const { url, attempt } = await authorizationRequest(parts, errand, redirect);
    opened();
    const reply = await visit(parts, errand, { url, attempt, redirect }, signal);
    return await finish(parts, { ...errand, ambiguity }, keep, { attempt, record: redirect.record, reply });
  } finally {
    await redirect.receiver.close();
  }
}

function authorizationRequest(
  parts: SignInParts,
  { request, destination, scope }: Errand,
  { record, receiver }: Redirect,
): Promise<{ readonly url: string; readonly attempt: AuthorizationAttempt }> {
  const { server, resource } = destination;
  const isPicking = request.account !== undefined && offersPrompt(server.metadata, 'select_account');
  return buildAuthorizationRequest({
    server,
    registration: record.registration,
    resource,
    redirectUri: receiver.redirectUri,
    overrides: parts.overrides.for(request.endpoint, ...namesOf(destination)),
    ...(scope === undefined ? {} : { scope }),
    ...(request.account === undefined ? {} : { loginHint: request.account }),
    // Who signed in wrongly before is asked again which account is meant.
    ...(isPicking ? { prompt: 'select_account' } : {}),
  });
}

function offersPrompt(metadata: Readonly<Record<string, unknown>>, prompt: string): boolean {
  const offered = metadata['prompt_values_supported'];
  return Array.isArray(offered) && offered.includes(prompt);
}

interface Visit {
  readonly url: string;
  readonly attempt: AuthorizationAttempt;
  readonly redirect: Redirect;
}

/** Shows the sign-in to the person and waits for the browser, or for the address it ended at. */
async function visit(
  parts: SignInParts,
  errand: Errand,
  { url, attempt, redirect }: Visit,
  signal: AbortSignal,
): Promise<Reply> {
  // No page for a program that went away in the meantime.
  signal.throwIfAborted();
  const { request, destination } = errand;
  const { server, formerIssuer } = destination;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const pasted = Promise.withResolvers<Reply>();
  const startUrl = request.method === 'browser' ? redirect.receiver.leadTo(url, either) : undefined;
  const question = {
    kind: 'login',
    endpoint: request.endpoint,
    issuer: server.issuer,
    url,
    ...askedFor(request),
    ...(startUrl === undefined ? {} : { startUrl }),
    ...(formerIssuer === undefined ? {} : { formerIssuer }),
    paste: (address: string) => pasted.resolve({ url: pastedReply(address, attempt), show: () => undefined }),
  } as const;
  const refused = parts.interactions.ask(question, either).then((): never => {
    throw calledOff(server.issuer, request.endpoint);
  });
  const tooLate = parts.clock.sleep(signInPatience, either).then((): never => {
    throw nobodyCame(server.issuer, request.endpoint);
  });
  const reply = redirect.receiver.receive(attempt.state, either);
  for (const pending of [refused, tooLate, reply]) pending.catch(() => undefined);
  try {
    // Without a browser the person still has the URL: the question carries it. Not waited for: one
    // that takes long to start must not keep a program that went away from calling the sign-in off.
    if (startUrl !== undefined) parts.openBrowser(startUrl).catch(() => undefined);
    return await Promise.race([reply, pasted.promise, refused, tooLate]);
  } finally {
    over.abort();
  }
}

/** The address must be of the sign-in that waits; a wrong one is refused here and the sign-in goes on. */
function pastedReply(address: string, attempt: AuthorizationAttempt): URL {
  const url = URL.parse(address.trim());
  const expected = new URL(attempt.redirectUri);
  if (url?.origin !== expected.origin || url.pathname !== expected.pathname) {
    throw new KeyturnError('invalid_request', 'That is not the address a sign-in ends at.', {
      hint: `Paste the whole address from the browser's address bar; it begins with ${expected.origin}${expected.pathname}?`,
    });
  }
  const states = url.searchParams.getAll('state');
  if (states.length === 1 && states[0] === attempt.state) return url;
  throw new RuleRefusal('state_mismatch', 'That address belongs to another sign-in.', {
    rule: 'RFC 6749 §10.12, spec Mandatory security requirements 6',
    hint: 'Paste the address that this sign-in ended at, or start again.',
  });
}

interface OpenedErrand extends Errand {
  /** What could be mixed up with it when its page opened. */
  readonly ambiguity: Ambiguity | undefined;
}

interface Arrival {
  readonly attempt: AuthorizationAttempt;
  readonly record: RegistrationRecord;
  readonly reply: Reply;
}

async function finish(
  parts: SignInParts,
  errand: OpenedErrand,
  keep: Keep,
  { attempt, record, reply }: Arrival,
): Promise<{ grant: Grant } | { rejected: unknown }> {
  let isShown = false;
  const show = (page: Page): void => {
    // One answer to one request: whoever is asked in Keyturn has been told so already.
    if (!isShown) reply.show(page);
    isShown = true;
  };
  try {
    const answer = await redeem(parts, errand, { attempt, record, reply });
    const grant = await keep({ record, answer, asking: () => show('asking') });
    show('done');
    return { grant };
  } catch (error) {
    show(pageFor(error));
    if (reasonOf(error) !== 'client_rejected') throw error;
    // A stale registration is thrown away, or every later sign-in would fail on it too.
    await parts.registrations.reject(record);
    if (record.registration.source !== 'dynamic') throw error;
    return { rejected: error };
  }
}

function pageFor(error: unknown): Page {
  return reasonOf(error) === 'account_mismatch' ? 'otherAccount' : 'failed';
}

async function redeem(
  parts: SignInParts,
  { request, destination, ambiguity: before }: OpenedErrand,
  arrival: Arrival,
): Promise<TokenAnswer> {
  const { attempt, record, reply } = arrival;
  const { server } = destination;
  const clientSecret = await parts.registrations.secret(record);
  // Asked anew: what else this home knows may have changed while the page was open.
  const ambiguity = before ?? ambiguityOf(parts.registrations.all(), record);
  requireUnchanged(parts, arrival);
  processAuthorizationResponse(attempt, server, reply.url, ambiguity);
  return exchangeCode(
    attempt,
    server,
    record.registration,
    clientSecret,
    reply.url,
    parts.network(request.endpoint),
  );
}

/** RFC 9700 §4.4.2: the answer arrived at the redirect URI of the client that asked, and that client is still ours. */
function requireUnchanged({ registrations }: SignInParts, { attempt, record, reply }: Arrival): void {
  const now = registrations.byId(record.id)?.registration;
  const { clientId, redirectUri } = record.registration;
  const isSame = now?.clientId === clientId && now.redirectUri === redirectUri;
  const [place, wanted] = [reply.url, new URL(attempt.redirectUri)];
  if (isSame && place.origin === wanted.origin && place.pathname === wanted.pathname) return;
  throw new KeyturnError('login_failed', 'The client of this sign-in was changed while its page was open.', {
    rule: 'RFC 9700 §4.4.2: an answer counts at the redirect URI of its own client',
    hint: 'Start the sign-in again.',
  });
}

export function calledOff(issuer: string, endpoint: string): KeyturnError {
  return new KeyturnError('login_failed', `The sign-in at ${issuer} was called off.`, {
    hint: `Start it again with: keyturn login ${endpoint}`,
  });
}

function nobodyCame(issuer: string, endpoint: string): KeyturnError {
  return new KeyturnError('login_required', `Nobody signed in at ${issuer} within ten minutes.`, {
    hint: `Start it again with: keyturn login ${endpoint}`,
  });
}
