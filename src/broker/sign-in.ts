/**
 * One sign-in, from the challenge to the stored grant:
 * challenge → discovery → registration → authorization → token → vault.
 *
 * Invariant: the issuer is recorded from validated metadata before the browser opens, and nothing of
 * a sign-in is kept unless its last step succeeded; the refresh token is in the vault before the
 * grant says that it is active.
 */
import { KeyturnError } from '../errors.ts';
import type { BearerChallenge } from '../oauth/challenge.ts';
import { selectScope, union } from '../oauth/scope.ts';
import type { TokenAnswer } from '../oauth/token.ts';
import type { Vault } from '../vault/vault.ts';
import { findDestination, namesOf } from './destination.ts';
import type { Destination, DestinationParts } from './destination.ts';
import { signInByDevice } from './device-sign-in.ts';
import { keepGrant } from './grant-keeping.ts';
import type { KeepingParts } from './grant-keeping.ts';
import type { Grant } from './grant.ts';
import type { Interactions } from './interaction.ts';
import type { OverrideBook } from './override.ts';
import { signInByPage } from './page-sign-in.ts';
import { canRegister } from './redirect.ts';
import type { RedirectParts } from './redirect.ts';
import type { RegistrationRecord } from './registrations.ts';
import { requestUnattended, unattendedRecord } from './unattended.ts';

export interface SignInParts extends DestinationParts, RedirectParts, KeepingParts {
  readonly vault: Vault;
  readonly overrides: OverrideBook;
  readonly interactions: Interactions;
  /** Hands the URL to the system browser without a shell. Rejects where there is none. */
  openBrowser(url: string): Promise<void>;
}

/** How the person reaches the issuer: a browser here, one elsewhere whose last address is pasted back, or a code. */
export type SignInMethod = 'browser' | 'paste' | 'device';

export interface SignInRequest {
  readonly endpoint: string;
  /** What the local client was told; a hint (DESIGN invariant 11). */
  readonly challenge?: BearerChallenge;
  /** Scopes the caller needs; a step-up passes the union. */
  readonly scope?: readonly string[];
  /** Scopes a permission allows at most; absent: no bound. */
  readonly bound?: readonly string[];
  readonly account?: string;
  readonly issuer?: string;
  readonly method: SignInMethod;
  /** A local client's request started it, not the user. */
  readonly isAutomatic: boolean;
  /** Nobody may be asked: only grants that need no person. */
  readonly isUnattended: boolean;
}

/** What every way of signing in works with. */
export interface Errand {
  readonly request: SignInRequest;
  readonly destination: Destination;
  readonly scope: readonly string[] | undefined;
}

/** Tokens, and the identity they were issued to. */
export interface Issued {
  readonly record: RegistrationRecord;
  readonly answer: TokenAnswer;
}

/** Keeps what was issued; a way of signing in calls it while the person still looks at the outcome. */
export type Keep = (issued: Issued) => Promise<Grant>;

/** Waits for its turn where pages are opened one after another; `opened` tells that the page is up. */
export type OnPage = (work: (opened: () => void) => Promise<Grant>) => Promise<Grant>;

export async function signIn(
  parts: SignInParts,
  request: SignInRequest,
  onPage: OnPage,
  signal: AbortSignal,
): Promise<Grant> {
  // A token that can't be kept is not worth a sign-in.
  await parts.vault.probe();
  const destination = await findDestination(parts, request);
  const { server } = destination;
  const errand: Errand = { request, destination, scope: scopeFor(request, destination) };
  const keep: Keep = (issued) => keepIssued(parts, errand, issued);
  const record = unattendedRecord(parts.registrations, server.issuer, parts.clock.now());
  if (record) return keep({ record, answer: await askUnattended(parts, errand, record) });
  if (request.isUnattended) throw needsPerson(request.endpoint);
  // Refuses here what no page could mend.
  canRegister(parts, server);
  const way = request.method === 'device' ? signInByDevice : signInByPage;
  return onPage((opened) => way(parts, errand, keep, opened, signal));
}

async function askUnattended(
  parts: SignInParts,
  errand: Errand,
  record: RegistrationRecord,
): Promise<TokenAnswer> {
  const { destination, scope, request } = errand;
  const overrides = parts.overrides.for(request.endpoint, ...namesOf(destination));
  const http = parts.network(request.endpoint);
  return requestUnattended(parts.registrations, { destination, record, scope, overrides }, http);
}

async function keepIssued(
  parts: SignInParts,
  { request, destination, scope }: Errand,
  { record, answer }: Issued,
): Promise<Grant> {
  return keepGrant(parts, {
    endpoint: request.endpoint,
    resource: destination.resource,
    issuer: destination.server.issuer,
    server: destination.place,
    registrationId: record.id,
    requestedScope: scope ?? [],
    answer,
    isAutomatic: request.isAutomatic,
    ...(request.account === undefined ? {} : { account: request.account }),
  });
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
