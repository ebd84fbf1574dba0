/**
 * One sign-in, from the challenge to the stored grant:
 * challenge → discovery → registration → authorization → token → vault.
 *
 * Invariant: the issuer is recorded from validated metadata before the browser opens, and nothing of
 * a sign-in is kept unless its last step succeeded; the refresh token is in the vault before the
 * grant says that it is active.
 */
import { KeyturnError, Unreachable } from '../errors.ts';
import { requireRegistrationIssuer } from '../oauth/registration.ts';
import { selectScope, union } from '../oauth/scope.ts';
import type { TokenAnswer } from '../oauth/token.ts';
import { giveBack, requireYes } from './account-question.ts';
import { findDestination, namesOf, requireSignIn } from './destination.ts';
import type { Destination } from './destination.ts';
import { signInByDevice } from './device-sign-in.ts';
import type { Errand, Issued, Keep, OnPage, SignInParts, SignInRequest } from './errand.ts';
import { keepGrant } from './grant-keeping.ts';
import type { MayKeep } from './grant-keeping.ts';
import type { Grant } from './grant.ts';
import { signInByPage } from './page-sign-in.ts';
import { serverResting, unreachableUntil } from './refusals.ts';
import type { RegistrationRecord } from './registrations.ts';
import { requestUnattended, unattendedRecord } from './unattended.ts';

export async function signIn(
  parts: SignInParts,
  request: SignInRequest,
  onPage: OnPage,
  signal: AbortSignal,
): Promise<Grant> {
  obeyBackoff(parts, request);
  // A token that can't be kept is not worth a sign-in.
  await parts.vault.probe();
  const destination = await findDestination(parts, request);
  const { server } = destination;
  const errand: Errand = { request, destination, scope: scopeFor(request, destination) };
  const keep: Keep = (issued) => keepWanted(parts, errand, issued, signal);
  const record = unattendedRecord(parts.registrations, server.issuer, parts.servers.timeAt(server.issuer));
  // Nobody signs in there, so that nobody is asked who it was.
  if (record) {
    const answer = await askUnattended(parts, errand, record);
    return keepIssued(parts, errand, { record, answer }, async () => undefined);
  }
  if (request.isUnattended) throw needsPerson(request.endpoint);
  // Neither a client nor a page for a sign-in that nobody could be asked about.
  await parts.interactions.requireAskable();
  refuseMovedClient(parts, destination);
  requireSignIn(parts, server, request.method);
  const way = request.method === 'device' ? signInByDevice : signInByPage;
  return onPage((opened) => way(parts, errand, keep, opened, signal));
}

/** The client that the user entered was for the issuer before: an error that the user sees, not a new registration. */
function refuseMovedClient(
  { registrations, servers }: SignInParts,
  { formerIssuer, server }: Destination,
): void {
  if (formerIssuer === undefined || registrations.for(server.issuer, servers.timeAt(server.issuer))) return;
  const entered = registrations.for(formerIssuer, servers.timeAt(formerIssuer));
  if (entered?.registration.source === 'preregistered') {
    requireRegistrationIssuer(entered.registration, server);
  }
}

async function askUnattended(
  parts: SignInParts,
  errand: Errand,
  record: RegistrationRecord,
): Promise<TokenAnswer> {
  const { destination, scope, request } = errand;
  const overrides = parts.overrides.for(request.endpoint, ...namesOf(destination));
  const http = parts.network(request.endpoint);
  const { backoff } = parts.refresher;
  const key = unattendedKey(request.endpoint);
  try {
    const asked = { destination, record, scope, overrides };
    const answer = await requestUnattended(parts.registrations, asked, http);
    backoff.succeeded(key);
    return answer;
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    throw unreachableUntil(error, backoff.failed(key, error.retryAfter));
  }
}

const unattendedKey = (endpoint: string): string => `unattended ${endpoint}`;

/** Nobody has to sign in there, so nothing else slows a program that asks again and again. */
function obeyBackoff({ refresher }: SignInParts, { endpoint, isAutomatic }: SignInRequest): void {
  const left = refresher.backoff.left(unattendedKey(endpoint));
  if (isAutomatic && left > 0) throw serverResting(endpoint, left);
}

/** Another account than was expected is kept with the person's yes only; else its tokens go back. */
async function keepWanted(
  parts: SignInParts,
  errand: Errand,
  issued: Issued,
  signal: AbortSignal,
): Promise<Grant> {
  return keepIssued(parts, errand, issued, async (another) => {
    if (another.kind === 'another') issued.asking?.();
    try {
      await requireYes(parts, errand, another, signal);
    } catch (error) {
      await giveBack(parts, errand, issued);
      throw error;
    }
  });
}

async function keepIssued(
  parts: SignInParts,
  { request, destination, scope }: Errand,
  { record, answer }: Issued,
  mayKeep: MayKeep,
): Promise<Grant> {
  const arrived = {
    endpoint: request.endpoint,
    resource: destination.resource,
    issuer: destination.server.issuer,
    server: destination.place,
    registrationId: record.id,
    requestedScope: scope ?? [],
    answer,
    isAutomatic: request.isAutomatic,
    ...(request.account === undefined ? {} : { account: request.account }),
    ...(request.grantId === undefined ? {} : { grantId: request.grantId }),
  };
  return keepGrant(parts, arrived, mayKeep);
}

function scopeFor(request: SignInRequest, destination: Destination): string[] | undefined {
  const { challengedScope, scopesSupported, server, place } = destination;
  const selected = selectScope({
    ...(challengedScope === undefined ? {} : { challenge: challengedScope }),
    ...(request.scope === undefined ? {} : { requested: request.scope }),
    ...(scopesSupported === undefined ? {} : { scopesSupported }),
    ...(server.scopesSupported === undefined ? {} : { authorizationServerScopes: server.scopesSupported }),
    earlierRevision: place.revision === 'earlier',
  });
  if (!request.bound) return selected;
  // Least privilege: a program that may have less doesn't make us ask for more. A refresh token is our
  // business, not its; but only a server that offers one is asked for it (newer revisions, refresh tokens).
  const { bound } = request;
  const ours = server.scopesSupported?.includes('offline_access') ? ['offline_access'] : [];
  const kept = selected?.filter((scope) => bound.includes(scope) || ours.includes(scope)) ?? [];
  return kept.some((scope) => bound.includes(scope)) ? kept : union(bound, kept);
}

function needsPerson(endpoint: string): KeyturnError {
  return new KeyturnError(
    'login_required',
    `A sign-in is needed for ${endpoint}, and nobody may be asked now.`,
    {
      hint: `Sign in with: keyturn login ${endpoint}`,
    },
  );
}
