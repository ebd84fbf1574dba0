/**
 * What becomes of the tokens of a sign-in: stored, or given back to their server. If another account signed in, the
 * user is asked whether to keep it.
 *
 * Invariants: only an approval keeps the tokens of another account. Without one they are revoked at their server and
 * stored nowhere.
 */
import type { BrokerParts } from '../parts.ts';
import { KeyturnError, quoted, reasonOf, shellOption, shellWord } from '../../base/errors.ts';
import { revokeToken } from '../../oauth/grants/revocation.ts';
import type { SignInContext, IssuedTokens } from './sign-in-context.ts';
import { askUser } from '../approval-requests/approval-requests.ts';
import type { Another, Mismatch } from './sign-in-account.ts';
import { offlineAccess, union, withoutOfflineAccess } from '../../oauth/base/scope.ts';
import type { SignIn } from '../records/sign-in.ts';
import { storeSignIn } from './store-sign-in.ts';
import type { ConfirmAccount } from './store-sign-in.ts';

/** RFC 7009: revokes tokens that will not be used. Never throws: the audit log has the error. */
async function giveBack(
  parts: BrokerParts,
  { request: { endpoint }, destination: { server } }: SignInContext,
  { record, answer }: IssuedTokens,
): Promise<void> {
  const { registrations, audit, network } = parts;
  const clientSecret = await registrations.secret(record).catch(() => undefined);
  const client = { server, registration: record.registration, clientSecret };
  const tell = (token: string, hint: 'refresh_token' | 'access_token'): Promise<string> =>
    revokeToken({ ...client, token, hint }, network(endpoint)).catch(reasonOf);
  const { refreshToken, accessToken } = answer;
  // The refresh token first: many servers end the whole sign-in with it (RFC 7009 §2.1).
  const first = refreshToken === undefined ? undefined : await tell(refreshToken, 'refresh_token');
  const second = await tell(accessToken, 'access_token');
  const outcome = `given back: ${first ?? second}`;
  audit.note({ event: 'revoke', outcome, endpoint, issuer: server.issuer });
}

/** For a sign-in that nobody can be asked about, too. */
function anotherAccount(endpoint: string, another: Another): KeyturnError {
  if (another.kind === 'mismatch') return knownAlready(endpoint, another);
  return mismatch(endpoint, another.known, another.signedIn);
}

/** A second name for one account would make two of it, and no page could tell them apart. */
function knownAlready(endpoint: string, { asked, known, signedIn }: Mismatch): KeyturnError {
  const other = quoted(known);
  const who = known === signedIn ? other : `${quoted(signedIn)}, which is ${other} here,`;
  return new KeyturnError(
    'account_mismatch',
    `The sign-in was for a new account ${quoted(asked)}, but ${who} signed in.`,
    {
      rule: 'One account has one name',
      hint: `Nothing was kept. Use that account by its name: ${shellOption('account', known)}. To add another one, choose it on the server’s page: keyturn login ${shellWord(endpoint)} ${shellOption('account', asked)}`,
    },
  );
}

function mismatch(endpoint: string, known: readonly string[], signedIn: string | undefined): KeyturnError {
  const who =
    signedIn === undefined ? 'the server did not say who signed in' : `${quoted(signedIn)} signed in`;
  return new KeyturnError(
    'account_mismatch',
    `The sign-in was for ${known.map(quoted).join(' or ')}, but ${who}.`,
    {
      rule: 'A sign-in as another account is kept only if you approve it, and changes no other account’s sign-in',
      hint: `Nothing was kept. Sign in as the right account, or approve the other one when Keyturn asks: keyturn login ${shellWord(endpoint)}`,
    },
  );
}

/**
 * Client credentials and a workload name no user, so there is no question about the account. An identity assertion
 * names one: for another one than before an app's request ends, and only the user can approve that.
 */
export async function storeUnattended(
  parts: BrokerParts,
  context: SignInContext,
  tokens: IssuedTokens,
  signal: AbortSignal,
): Promise<SignIn> {
  if (tokens.answer.subject === undefined) return storeTokens(parts, context, tokens, async () => undefined);
  if (!context.request.isAutomatic)
    return storeConfirmed(parts, context, tokens, { closed: () => undefined, signal });
  return storeTokens(parts, context, tokens, async (another) => {
    await giveBack(parts, context, tokens);
    throw anotherAccount(context.request.endpoint, another);
  });
}

/** Another account than expected is kept only if the user approves it; no page stays open during that question. */
export async function storeConfirmed(
  parts: BrokerParts,
  context: SignInContext,
  tokens: IssuedTokens,
  { closed, signal }: { readonly closed: () => void; readonly signal: AbortSignal },
): Promise<SignIn> {
  return storeTokens(parts, context, tokens, async (another) => {
    const { endpoint, onlyFor } = context.request;
    try {
      // A permission is for an account: another one would be no answer to the app's request.
      if (another.kind === 'mismatch' || onlyFor !== undefined) throw anotherAccount(endpoint, another);
      tokens.asking?.();
      closed();
      const { known, signedIn: account } = another;
      const { issuer } = context.destination.server;
      const question = { kind: 'account', endpoint, issuer, account, known } as const;
      const { verdict } = await askUser(parts, question, signal);
      if (verdict !== 'approve') throw mismatch(endpoint, known, account);
    } catch (error) {
      await giveBack(parts, context, tokens);
      throw error;
    }
  });
}

async function storeTokens(
  parts: BrokerParts,
  context: SignInContext,
  tokens: IssuedTokens,
  confirmAccount: ConfirmAccount,
): Promise<SignIn> {
  const { request, destination, scope, options, item } = context;
  const { record, answer, asked = scope } = tokens;
  // A scope that was not asked for in the end stays in what was wanted, so that no step-up asks for it again and again.
  const wanted = union(asked ?? [], withoutOfflineAccess(scope ?? []));
  const received = {
    request,
    item,
    resource: destination.resource,
    issuer: destination.server.issuer,
    server: destination.source,
    registrationId: record.id,
    requestedScope: union(wanted, request.notGranted ?? []),
    answer,
    prompts: options.prompts,
  };
  // Tokens that can't be kept are good at the server, and nobody would end them.
  const steps = { confirmAccount, giveBack: () => giveBack(parts, context, tokens) };
  const signIn = await storeSignIn(parts, received, steps);
  if (context.isWithoutOffline) await parts.registrations.refuseScope(record, [offlineAccess]);
  return signIn;
}
