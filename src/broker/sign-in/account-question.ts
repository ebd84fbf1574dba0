/**
 * A sign-in returned another account: asks the person whether to keep it, and revokes its tokens if not.
 *
 * Invariants: only a yes keeps the tokens. Without an answer they are revoked at their server and stored nowhere.
 */
import type { BrokerParts } from '../parts.ts';
import { KeyturnError, quoted, reasonOf, shellOption, shellWord } from '../../base/errors.ts';
import { revokeToken } from '../../oauth/grants/revocation.ts';
import type { RevocationResult } from '../../oauth/grants/revocation.ts';
import type { SignInContext, IssuedTokens } from './sign-in-context.ts';
import { answerInTime } from '../questions/interaction.ts';
import type { Another, Mismatch } from './sign-in-account.ts';

/** Resolves with a yes. Throws `account_mismatch`, and the signal's reason when the sign-in is withdrawn. */
export async function requireYes(
  parts: BrokerParts,
  context: SignInContext,
  another: Another,
  signal: AbortSignal,
): Promise<void> {
  const { endpoint } = context.request;
  const { issuer } = context.destination.server;
  if (another.kind === 'mismatch') throw anotherAccount(endpoint, another);
  const { known, signedIn } = another;
  const account = signedIn === undefined ? {} : { account: signedIn };
  const question = { kind: 'account', endpoint, issuer, ...account, known } as const;
  const { verdict } = await answerInTime(parts, question, signal);
  if (verdict !== 'yes') throw mismatch(endpoint, known, signedIn);
}

/** RFC 7009: revokes tokens that will not be used. Never throws: the audit log has the error. */
export async function giveBack(
  parts: BrokerParts,
  { request: { endpoint }, destination: { server } }: SignInContext,
  { record, answer }: IssuedTokens,
): Promise<void> {
  const { registrations, audit, network } = parts;
  const clientSecret = await registrations.secret(record).catch(() => undefined);
  const tell = (token: string, hint: 'refresh_token' | 'access_token'): Promise<RevocationResult> =>
    revokeToken(
      {
        server,
        registration: record.registration,
        clientSecret,
        token,
        hint,
      },
      network(endpoint),
    );
  const { refreshToken, accessToken } = answer;
  const outcomes: string[] = [];
  // The refresh token first: many servers end the whole grant with it (RFC 7009 §2.1).
  if (refreshToken !== undefined) outcomes.push(await tell(refreshToken, 'refresh_token').catch(reasonOf));
  outcomes.push(await tell(accessToken, 'access_token').catch(reasonOf));
  const outcome = `given back: ${outcomes[0] ?? ''}`;
  audit.note({ event: 'revoke', outcome, endpoint, issuer: server.issuer });
}

/** For a sign-in that nobody can be asked about, too. */
export function anotherAccount(endpoint: string, another: Another): KeyturnError {
  if (another.kind === 'mismatch') return knownAlready(endpoint, another);
  return mismatch(endpoint, another.known, another.signedIn);
}

/** A second name for one account would make two grants of it, and no page could tell them apart. */
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
      rule: 'A sign-in as another account is kept only with your yes, and changes no other account’s grant',
      hint: `Nothing was kept. Sign in as the right account, or say yes when Keyturn asks: keyturn login ${shellWord(endpoint)}`,
    },
  );
}
