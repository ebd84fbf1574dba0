/**
 * One sign-in, from the challenge to the stored grant:
 * challenge → discovery → registration → authorization → token → vault.
 *
 * Invariant: the issuer is recorded from validated metadata before the browser opens, and nothing of
 * a sign-in is kept unless its last step succeeded; the refresh token is in the vault before the
 * grant says that it is active.
 */
import { KeyturnError, quoted, reasonOf, RuleRefusal } from '../errors.ts';
import type { AuthorizationServer } from '../oauth/authorization-server.ts';
import { buildAuthorizationRequest, processAuthorizationResponse } from '../oauth/authorization.ts';
import type { AuthorizationAttempt } from '../oauth/authorization.ts';
import type { BearerChallenge } from '../oauth/challenge.ts';
import type { Http } from '../oauth/http.ts';
import { discoverProtectedResource, probe } from '../oauth/protected-resource.ts';
import type { ProtectedResource } from '../oauth/protected-resource.ts';
import { selectScope, union } from '../oauth/scope.ts';
import { exchangeCode } from '../oauth/token.ts';
import type { TokenAnswer } from '../oauth/token.ts';
import type { Vault } from '../vault/vault.ts';
import type { Audit } from './audit.ts';
import type { AuthorizationServers } from './authorization-servers.ts';
import type { Clock } from './clock.ts';
import { keepGrant } from './grant-keeping.ts';
import type { Grant, Grants } from './grant.ts';
import type { Interactions } from './interaction.ts';
import type { Loopback, Receiver, Reply } from './loopback.ts';
import { prepareRedirect } from './redirect.ts';
import type { Refresher } from './refresher.ts';
import type { RegistrationRecord, Registrations } from './registrations.ts';
import type { TokenCache } from './token-cache.ts';

export interface SignInParts {
  readonly http: Http;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly grants: Grants;
  readonly registrations: Registrations;
  readonly servers: AuthorizationServers;
  readonly refresher: Refresher;
  readonly cache: TokenCache;
  readonly interactions: Interactions;
  readonly loopback: Loopback;
  readonly audit: Audit;
  /** Hands the URL to the system browser without a shell. Rejects where there is none. */
  openBrowser(url: string): Promise<void>;
}

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
  /** A local client's request started it, not the user. */
  readonly isAutomatic: boolean;
}

/** How long a sign-in waits for the person, in milliseconds: time for a password manager and a second factor. */
export const signInPatience = 600_000;

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
  const { resource, challenge } = await discover(parts.http, request);
  const server = await parts.servers.discover(chooseIssuer(resource, request, parts));
  const scope = scopeFor(request, challenge, resource, server);
  return onPage(async (opened) => {
    const { receiver, record } = await prepareRedirect(parts, server);
    try {
      const { url, attempt } = await buildAuthorizationRequest({
        server,
        registration: record.registration,
        resource: resource.resource,
        ...(scope === undefined ? {} : { scope }),
      });
      opened();
      const reply = await visit(parts, { request, server, url, attempt, receiver }, signal);
      return await finish(parts, { request, resource, server, record, attempt, reply });
    } finally {
      await receiver.close();
    }
  });
}

interface Discovered {
  readonly resource: ProtectedResource;
  readonly challenge?: BearerChallenge;
}

async function discover(http: Http, request: SignInRequest): Promise<Discovered> {
  // We ask the server ourselves rather than believe a local client about where its metadata is.
  const own = (await probe(request.endpoint, http)).challenge;
  const hinted = request.challenge;
  const challenge =
    own?.resourceMetadata === undefined && isSameOrigin(hinted, request.endpoint) ? hinted : own;
  const resource = await discoverProtectedResource(request.endpoint, challenge, http);
  if (!resource) {
    throw new RuleRefusal(
      'metadata_invalid',
      `${request.endpoint} publishes no protected resource metadata.`,
      {
        rule: 'RFC 9728 §3, §5.1',
        hint: 'Check the URL. The server may not need authorization, or follow an earlier revision.',
      },
    );
  }
  // DESIGN invariant 11: what a local client says counts only within its permission, which `bound` is.
  const scope = (request.bound && hinted?.scope) ?? own?.scope;
  return { resource, challenge: { ...challenge, ...(scope === undefined ? {} : { scope }) } };
}

function isSameOrigin(challenge: BearerChallenge | undefined, endpoint: string): boolean {
  const url = challenge?.resourceMetadata;
  return url !== undefined && URL.canParse(url) && new URL(url).origin === new URL(endpoint).origin;
}

/** RFC 9728 §7.6: the client chooses. What the user named, else an issuer we hold something of, else the first. */
function chooseIssuer(resource: ProtectedResource, request: SignInRequest, parts: SignInParts): string {
  const offered = resource.authorizationServers;
  if (request.issuer !== undefined) {
    if (offered.includes(request.issuer)) return request.issuer;
    throw new RuleRefusal(
      'issuer_mismatch',
      `${request.endpoint} does not name ${quoted(request.issuer)} as its authorization server.`,
      {
        rule: 'RFC 9728 §3.3, §7.6',
        hint: `It names ${offered.map(quoted).join(', ')}.`,
      },
    );
  }
  const granted = parts.grants.forEndpoint(request.endpoint, request.account).map((grant) => grant.issuer);
  const now = parts.clock.now();
  const known = offered.find((issuer) => granted.includes(issuer) || parts.registrations.for(issuer, now));
  return known ?? offered[0];
}

function scopeFor(
  request: SignInRequest,
  challenge: BearerChallenge | undefined,
  resource: ProtectedResource,
  server: AuthorizationServer,
): string[] | undefined {
  const selected = selectScope({
    ...(challenge?.scope === undefined ? {} : { challenge: challenge.scope }),
    ...(request.scope === undefined ? {} : { requested: request.scope }),
    ...(resource.scopesSupported === undefined ? {} : { scopesSupported: resource.scopesSupported }),
    ...(server.scopesSupported === undefined ? {} : { authorizationServerScopes: server.scopesSupported }),
  });
  if (!request.bound) return selected;
  // Least privilege: a program that may have less doesn't make us ask for more.
  const { bound } = request;
  const kept = selected?.filter((scope) => bound.includes(scope) || scope === 'offline_access') ?? [];
  return kept.some((scope) => bound.includes(scope)) ? kept : union(bound, kept);
}

interface Visit {
  readonly request: SignInRequest;
  readonly server: AuthorizationServer;
  readonly url: string;
  readonly attempt: AuthorizationAttempt;
  readonly receiver: Receiver;
}

/** Shows the sign-in to the person and waits for the browser to come back. */
async function visit(
  parts: SignInParts,
  { request, server, url, attempt, receiver }: Visit,
  signal: AbortSignal,
): Promise<Reply> {
  // No page for a program that went away in the meantime.
  signal.throwIfAborted();
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const question = { kind: 'login', endpoint: request.endpoint, issuer: server.issuer, url } as const;
  const refused = parts.interactions.ask(question, either).then((): never => {
    throw new KeyturnError('login_failed', `The sign-in at ${server.issuer} was called off.`, {
      hint: `Start it again with: keyturn login ${request.endpoint}`,
    });
  });
  const tooLate = parts.clock.sleep(signInPatience, either).then((): never => {
    throw new KeyturnError('login_required', `Nobody signed in at ${server.issuer} within ten minutes.`, {
      hint: `Start it again with: keyturn login ${request.endpoint}`,
    });
  });
  const reply = receiver.receive(attempt.state, either);
  for (const pending of [refused, tooLate, reply]) pending.catch(() => undefined);
  try {
    // Without a browser the person still has the URL: the question carries it. Not waited for: one
    // that takes long to start must not keep a program that went away from calling the sign-in off.
    parts.openBrowser(url).catch(() => undefined);
    return await Promise.race([reply, refused, tooLate]);
  } finally {
    over.abort();
  }
}

interface Arrival {
  readonly request: SignInRequest;
  readonly resource: ProtectedResource;
  readonly server: AuthorizationServer;
  readonly record: RegistrationRecord;
  readonly attempt: AuthorizationAttempt;
  readonly reply: Reply;
}

async function finish(parts: SignInParts, arrival: Arrival): Promise<Grant> {
  const { request, server, resource, reply } = arrival;
  try {
    const grant = await keepGrant(parts, {
      endpoint: request.endpoint,
      resource: resource.resource,
      issuer: server.issuer,
      registrationId: arrival.record.id,
      requestedScope: arrival.attempt.scope ?? [],
      answer: await redeem(parts, arrival),
      isAutomatic: request.isAutomatic,
      ...(request.account === undefined ? {} : { account: request.account }),
    });
    reply.show('done');
    return grant;
  } catch (error) {
    reply.show('failed');
    throw error;
  }
}

async function redeem(parts: SignInParts, { server, record, attempt, reply }: Arrival): Promise<TokenAnswer> {
  processAuthorizationResponse(attempt, server, reply.url);
  const clientSecret = await parts.registrations.secret(record);
  try {
    return await exchangeCode(attempt, server, record.registration, clientSecret, reply.url, parts.http);
  } catch (error) {
    // A stale registration is thrown away, or every later sign-in would fail on it too.
    if (reasonOf(error) === 'client_rejected') await parts.registrations.reject(record);
    throw error;
  }
}
