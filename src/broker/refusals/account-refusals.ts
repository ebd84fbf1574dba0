/** Explains why a request gets no token of an account: each message names the accounts and the next step. */
import { KeyturnError, quoted, shellOption, shellWord } from '../../base/errors.ts';
import type { SignIn } from '../records/sign-in.ts';

/** A mistyped name would otherwise become an account. `known`: the accounts that the app may hear of. */
export function unknownAccount(endpoint: string, account: string, known: readonly string[]): KeyturnError {
  const others =
    known.length > 0
      ? `Name another one (--account, or KEYTURN_ACCOUNT): ${known.map(quoted).join(', ')}. `
      : '';
  return new KeyturnError('account_required', `Nobody is signed in at ${endpoint} as ${quoted(account)}.`, {
    rule: 'A request that names an account gets that account or none. Only you can add an account',
    hint: `${others}To add this one: keyturn login ${shellWord(endpoint)} ${shellOption('account', account)}`,
  });
}

/** Whose account is to be chosen. `isNamed`: the permission names accounts; else the user has to allow one. */
interface AccountChoice {
  readonly name: string;
  readonly endpoint: string;
  readonly isNamed: boolean;
}

/** Several accounts could serve, and neither the app nor the user has said which. */
export function accountRequired(
  { name, endpoint, isNamed }: AccountChoice,
  accounts: readonly string[],
): KeyturnError {
  const [first = 'ACCOUNT'] = accounts;
  const has = isNamed
    ? `${name} may use several accounts at ${endpoint}, and none of them is chosen yet`
    : `You allowed ${name} to use ${endpoint} without naming an account, several are signed in there, and none of them is chosen yet`;
  const allow = `keyturn app allow ${shellWord(name)} ${shellWord(endpoint)} ${shellOption('account', first)}`;
  return new KeyturnError('account_required', `${has}: ${accounts.map(quoted).join(', ')}.`, {
    rule: 'If an app may use several accounts, it names one, or you choose one',
    hint: isNamed
      ? `Name one, e.g. ${shellOption('account', first)}, or KEYTURN_ACCOUNT. To choose one permanently: ${allow}`
      : `Allow it one by name, e.g. ${allow}`,
  });
}

/** Between question and answer the account was revoked. No `conflict`: a new try would take the account that is left. */
export function chosenEnded(endpoint: string, account: string): KeyturnError {
  return new KeyturnError(
    'login_required',
    `The sign-in as ${quoted(account)} at ${endpoint} ended before your choice took effect.`,
    {
      rule: 'A choice is valid only for the account that you chose',
      hint: `Ask again. To sign in as ${quoted(account)} again: keyturn login ${shellWord(endpoint)} ${shellOption('account', account)}`,
    },
  );
}

/** The user kept the account that signed in, but the app asked for another one by name. */
export function anotherSignedIn(
  name: string,
  endpoint: string,
  { account }: SignIn,
  arrived: SignIn,
): KeyturnError {
  const who = quoted(arrived.account);
  return new KeyturnError(
    'account_mismatch',
    `The sign-in was for ${quoted(account)}, but ${who} signed in.`,
    {
      rule: 'An app keeps its account',
      hint: `Ask again and sign in as ${quoted(account)}. ${who} is signed in at ${endpoint} now, too; to allow ${name} that account: keyturn app allow ${shellWord(name)} ${shellWord(endpoint)} ${shellOption('account', arrived.account)}`,
    },
  );
}
