/**
 * One sign-in, from the challenge to the record: challenge → discovery → registration → authorization → token →
 * vault.
 *
 * Invariant: the issuer is taken from validated metadata before the browser opens. The document has the name of the new
 * item before tokens are asked for. Until the last step succeeds, nothing else is stored but a new or a rejected
 * client. The refresh token is in the vault before a record names it.
 */
import type { BrokerParts } from '../parts.ts';
import { KeyturnError, reasonOf, shellWord } from '../../base/errors.ts';
import { SilentAboutPkce } from '../../oauth/discovery/authorization-server.ts';
import { PromptRefused } from '../../oauth/grants/authorization-failure.ts';
import { DpopKey } from '../../oauth/client/dpop-key.ts';
import { RegistrationRequired, requireRegistrationIssuer } from '../../oauth/client/registration.ts';
import { selectScope, union, withoutOfflineAccess, withOfflineAccess } from '../../oauth/base/scope.ts';
import { canonicalResource } from '../../oauth/base/resource.ts';
import { companySignIn, wasCompanySignInRevoked } from '../records/company.ts';
import { CompanySignInNeeded } from './unattended/company-session.ts';
import { withLessOffline } from './asked-scope.ts';
import { storeConfirmed, storeUnattended } from './issued-tokens.ts';
import { findDestination, exceptionsAt, requireSignIn } from '../destination/destination.ts';
import type { Destination } from '../destination/destination.ts';
import { signInByDevice } from './device-sign-in.ts';
import type { SignInContext, OnPage, SignInRequest } from './sign-in-context.ts';
import { unboundNow } from './store-sign-in.ts';
import { isLiving } from '../records/sign-in.ts';
import type { SignIn } from '../records/sign-in.ts';
import { pageOptions } from './page-options.ts';
import { signInByPage } from './page-sign-in.ts';
import type { RegistrationRecord } from '../records/registrations.ts';
import { isRefusal } from '../refusals/refresh-refusals.ts';
import { requestUnattended, unattendedRecord } from './unattended/unattended.ts';

/** If the last sign-in there found a server that could not answer, this one is refused while that server rests. */
export async function runSignIn(
  parts: BrokerParts,
  request: SignInRequest,
  onPage: OnPage,
  signal: AbortSignal,
): Promise<SignIn> {
  const asking = { what: `sign-in ${request.endpoint}`, isByUser: !request.isAutomatic };
  try {
    return await parts.rests.ask(asking, () => signInNow(parts, request, onPage, signal));
  } catch (error) {
    throw byHand(parts, request, error);
  }
}

/** One command does it all, once the user has a client: with what to register. */
function byHand({ loopback }: BrokerParts, { endpoint }: SignInRequest, error: unknown): unknown {
  const command = (issuer: string): string =>
    `Register Keyturn there, as a native or desktop app with the redirect URI ${loopback.redirectFor(issuer)}. ` +
    `Then: keyturn login ${shellWord(endpoint)} --client-id ID   (and --client-secret-stdin, if it gives you a secret)`;
  if (error instanceof RegistrationRequired) return new RegistrationRequired(error, command(error.issuer));
  if (error instanceof SilentAboutPkce)
    return new SilentAboutPkce(
      error.issuer,
      `${error.hint ?? ''} Where clients are registered by hand, one command makes an exception and signs in. ${command(error.issuer)}`,
    );
  return error;
}

async function signInNow(
  parts: BrokerParts,
  asked: SignInRequest,
  onPage: OnPage,
  signal: AbortSignal,
): Promise<SignIn> {
  // If the vault can't store a token, no sign-in starts.
  await parts.requireVault();
  const destination = await findDestination(parts, asked);
  const { server } = destination;
  const kept = withKeptScope(parts, asked, destination);
  refuseUnboundNow(parts, kept, destination);
  const scope = scopeOfAll(kept, destination);
  const own = scopeFor(kept, destination) ?? [];
  const request = { ...kept, added: scope?.filter((name) => !own.includes(name)) };
  // RFC 8628 §3.1: a sign-in on another device has none of these parameters.
  const options =
    request.mayNotAsk || request.method === 'device'
      ? { prompts: [] }
      : await pageOptions(parts, { ...request, server, scope });
  const record = unattendedRecord(parts.registrations, server.issuer, parts.servers.timeAt(server.issuer));
  // Each sign-in has a new key: what an earlier one signed doesn't fit the new tokens.
  const dpopKey = destination.isBound ? DpopKey.create() : undefined;
  const context = { request, destination, scope, options, dpopKey };
  if (record) {
    const visit = (): Promise<SignIn> =>
      withItem(parts, async (reserved) =>
        visitUnattended(parts, { ...context, item: await reserved() }, record, signal),
      );
    return visit().catch(async (error: unknown) => {
      // `explain.ts` says it: the next request tries again.
      if (request.signInId !== undefined && needsSomebody(error))
        parts.refresher.failures.refusals.add(request.signInId, error);
      if (!(error instanceof CompanySignInNeeded) || request.mayNotAsk) throw error;
      // Only the user starts again what the user ended.
      if (request.isAutomatic && wasCompanySignInRevoked(parts.signIns, error.provider)) throw error;
      // One sign-in at the company serves all of its servers.
      await signInNow(parts, companyRequest(parts, request, error.provider), onPage, signal);
      return visit();
    });
  }
  if (request.mayNotAsk) throw needsUser(request.endpoint);
  // No client is registered and no page opens if the question about the account could not be asked.
  await parts.approvalRequests.requireAskable();
  refuseMovedClient(parts, destination);
  if (!destination.isChecked) requireSignIn(parts, server, request);
  const way = request.method === 'device' ? signInByDevice : signInByPage;
  return withItem(parts, (reserved) =>
    // Not before its turn in the queue: most of those that wait need no item.
    onPage(async (opened, closed) => {
      const item = await reserved();
      const visit = (one: SignInContext): Promise<SignIn> =>
        way(parts, one, (tokens) => storeConfirmed(parts, one, tokens, { closed, signal }), opened, signal);
      return adapting(parts, { ...context, item }, visit);
    }),
  );
}

/** True if the next request for a token without a user fails alike, unless somebody acts. */
const needsSomebody = (error: unknown): error is KeyturnError =>
  isRefusal(error) || ['assertion_invalid', 'file_unreadable', 'login_required'].includes(reasonOf(error));

/** `reserved`: the document has the name of the item before a server is asked for tokens. */
async function withItem(
  { items }: BrokerParts,
  work: (reserved: () => Promise<string>) => Promise<SignIn>,
): Promise<SignIn> {
  let name: string | undefined;
  try {
    return await work(async () => (name = await items.reserve('s')));
  } finally {
    if (name !== undefined) items.release(name);
    await items.tidy();
  }
}

/** Once without prompts, once with less for `offline_access`: what Keyturn itself added. A further refusal is shown. */
async function adapting(
  parts: BrokerParts,
  context: SignInContext,
  visit: (one: SignInContext) => Promise<SignIn>,
): Promise<SignIn> {
  const { options, destination } = context;
  try {
    return await visit(context);
  } catch (error) {
    const next = withLessOffline(context, error);
    if (next) return visit(next);
    if (!(error instanceof PromptRefused)) throw error;
    const signIn = await visit({ ...context, options: { ...options, prompts: [] } });
    parts.refusedPrompts.add(destination.server.issuer, options.prompts);
    return signIn;
  }
}

/** The user named exact scopes at an earlier sign-in: one without scopes asks for those. */
function withKeptScope(
  { signIns }: BrokerParts,
  request: SignInRequest,
  { resource, server }: Destination,
): SignInRequest {
  const { account, isAutomatic, scope } = request;
  if (isAutomatic || scope !== undefined) return request;
  const living = signIns.sharedAt(resource, server.issuer).filter(isLiving);
  const [meant, ...more] = living.filter((one) => account === undefined || one.account === account);
  if (meant?.isExactScope !== true || more.length > 0) return request;
  return { ...request, scope: withoutOfflineAccess(meant.requestedScope) };
}

/** Before a page opens; when the tokens are there, `storeSignIn` checks again. */
function refuseUnboundNow(
  { signIns }: BrokerParts,
  { endpoint }: SignInRequest,
  { resource, server, isBound }: Destination,
): void {
  if (isBound) return;
  const living = signIns.sharedAt(resource, server.issuer).filter(isLiving);
  if (living.some(({ isKeyBound }) => isKeyBound)) throw unboundNow(endpoint, server.issuer);
}

/** The user's sign-in at the company, for a request about one of its servers. */
function companyRequest(
  parts: BrokerParts,
  { method, isAutomatic, starter, starters }: SignInRequest,
  provider: string,
): SignInRequest {
  const signIn = companySignIn(parts.signIns, provider);
  return {
    endpoint: canonicalResource(provider, parts.network(provider)),
    method,
    isAutomatic,
    mayNotAsk: false,
    starter,
    starters,
    signInId: signIn?.id,
    account: signIn?.account,
  };
}

/** The client that the user entered was for the issuer before: an error that the user sees, not a new registration. */
function refuseMovedClient(
  { registrations, servers }: BrokerParts,
  { formerIssuer, server }: Destination,
): void {
  if (formerIssuer === undefined || registrations.for(server.issuer, servers.timeAt(server.issuer))) return;
  const entered = registrations.for(formerIssuer, servers.timeAt(formerIssuer));
  if (entered?.registration.source === 'preregistered') {
    requireRegistrationIssuer(entered.registration, server);
  }
}

async function visitUnattended(
  parts: BrokerParts,
  context: SignInContext,
  record: RegistrationRecord,
  signal: AbortSignal,
): Promise<SignIn> {
  const { destination, scope, request, dpopKey } = context;
  const { endpoint, signInId, isAutomatic } = request;
  const exceptions = exceptionsAt(parts, endpoint, destination);
  const isByUser = !isAutomatic;
  const asked = { destination, record, scope, exceptions, dpopKey, signInId, isByUser, signal };
  return requestUnattended(parts, asked, parts.network(endpoint), async (answer) =>
    storeUnattended(parts, context, { record, answer }, signal),
  );
}

/** With what the automatic sign-ins would ask for that it serves too; not with those for one app alone. */
function scopeOfAll(request: SignInRequest, destination: Destination): string[] | undefined {
  const all = [request, ...(request.waiting ?? []).filter(({ onlyFor }) => onlyFor === undefined)];
  const scope = union(...all.map((one) => scopeFor(one, destination) ?? []));
  return scope.length === 0 ? undefined : scope;
}

function scopeFor(request: SignInRequest, destination: Destination): string[] | undefined {
  const { challengedScope, scopesSupported, server, isCompany } = destination;
  // OpenID Connect Core §3.1.2.1, §11: an ID token, and a way to the next one.
  if (isCompany) return withOfflineAccess(union(['openid'], request.scope ?? []), server.scopesSupported);
  const selected = selectScope({
    challenge: challengedScope,
    requested: request.scope,
    isExact: !request.isAutomatic || request.signInId !== undefined,
    scopesSupported,
    authorizationServerScopes: server.scopesSupported,
  });
  if (!request.allowedScope) return selected;
  // Least privilege: if an app may have only some scopes, no more are requested. A refresh token is for Keyturn, not
  // for the app, but offline_access is requested only if the server offers it (newer revisions, refresh tokens).
  const { allowedScope } = request;
  const kept = selected?.filter((scope) => allowedScope.includes(scope)) ?? [];
  return withOfflineAccess(kept.length > 0 ? kept : allowedScope, server.scopesSupported);
}

function needsUser(endpoint: string): KeyturnError {
  const problem = `A sign-in is needed for ${endpoint}, and this request may not ask anybody.`;
  return new KeyturnError('login_required', problem, {
    hint: `Sign in with: keyturn login ${shellWord(endpoint)}`,
  });
}
