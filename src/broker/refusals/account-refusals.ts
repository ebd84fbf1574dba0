/**
 * Explains why a request gets no token of an account: each message names the accounts and the next step.
 *
 * Invariant: what a project file names is quoted, and never offered as allowed.
 */
import { KeyturnError, quoted, shellQuoted, shellWord } from '../../base/errors.ts';
import type { Grant } from '../records/grant.ts';

/** Refused, because a mistyped name would otherwise become an account. `known`: those that the program may use. */
export function unknownAccount(endpoint: string, account: string, known: readonly string[]): KeyturnError {
  const others = known.length > 0 ? `It may use ${known.map(quoted).join(', ')} there. ` : '';
  return new KeyturnError('login_required', `Nobody is signed in at ${endpoint} as ${quoted(account)}.`, {
    rule: 'Only you can add another account at a server',
    hint: `${others}To add this one: keyturn login ${shellWord(endpoint)} --account ${shellQuoted(account)}`,
  });
}

/** Whose account is to be chosen. `isNamed`: the permission names accounts; else the person has to allow one. */
interface AccountChoice {
  readonly name: string;
  readonly endpoint: string;
  readonly isNamed: boolean;
}

/** Several accounts could serve, and neither the program nor the person has said which. */
export function accountRequired(
  { name, endpoint, isNamed }: AccountChoice,
  accounts: readonly string[],
): KeyturnError {
  const [first = 'ACCOUNT'] = accounts;
  const has = isNamed
    ? `${name} may use several accounts at ${endpoint}, and none of them is chosen yet`
    : `You allowed ${name} to use ${endpoint} without naming an account, several are signed in there, and none of them is chosen yet`;
  const allow = `keyturn allow ${shellWord(name)} ${shellWord(endpoint)} --account ${shellQuoted(first)}`;
  return new KeyturnError('account_required', `${has}: ${accounts.map(quoted).join(', ')}.`, {
    rule: 'Where a program may use several accounts, it names one, a project file names one, or you choose one',
    hint: isNamed
      ? `Name one, e.g. --account ${shellQuoted(first)}. To choose one for good: ${allow}`
      : `Allow it one by name, e.g. ${allow}`,
  });
}

/** Between question and answer the account was revoked. No `conflict`: a new try would take the account that is left. */
export function chosenEnded(endpoint: string, account: string): KeyturnError {
  return new KeyturnError(
    'login_required',
    `The sign-in as ${quoted(account)} at ${endpoint} ended before your choice counted.`,
    {
      rule: 'A choice counts for the account that you chose, and for no other',
      hint: `Ask again. To sign in as ${quoted(account)} again: keyturn login ${shellWord(endpoint)} --account ${shellQuoted(account)}`,
    },
  );
}

/** What a project file asks for. */
export interface NamedByFolder {
  readonly name: string;
  readonly endpoint: string;
  readonly folder: string;
  readonly account: string;
}

/** `permitted`: the accounts that the program may use there. */
export function folderNamesOther(
  { name, endpoint, folder, account }: NamedByFolder,
  permitted: readonly string[],
): KeyturnError {
  const has = permitted.length > 0 ? permitted.map(quoted).join(', ') : 'no account';
  return new KeyturnError(
    'consent_required',
    `The project file in ${quoted(folder)} names the account ${quoted(account)} at ${endpoint}, which ${name} may not use.`,
    {
      rule: 'A project file chooses among the accounts that a program may use, and allows none',
      hint: `It may use ${has} there. To allow this one: keyturn allow ${shellWord(name)} ${shellWord(endpoint)} --account ${shellQuoted(account)}`,
    },
  );
}

/** A mistyped name, or an account that is still to be added. `known`: the accounts that are signed in there. */
export function folderNamesUnknown(
  { endpoint, folder, account }: NamedByFolder,
  known: readonly string[],
): KeyturnError {
  return new KeyturnError(
    'consent_required',
    `The project file in ${quoted(folder)} names the account ${quoted(account)} at ${endpoint}; nobody is signed in there as ${quoted(account)}.`,
    {
      rule: 'A project file chooses among the accounts that a program may use, and allows none',
      hint: `Signed in there: ${known.map(quoted).join(', ') || 'none'}. Correct the line in .keyturn.toml, or add the account: keyturn login ${shellWord(endpoint)} --account ${shellQuoted(account)}`,
    },
  );
}

export function folderUnconfirmed({ name, endpoint, folder, account }: NamedByFolder): KeyturnError {
  return new KeyturnError(
    'consent_required',
    `The project file in ${quoted(folder)} names the account ${quoted(account)} at ${endpoint}; you have not confirmed that.`,
    {
      rule: 'What a project file chooses is confirmed once in each folder, and again after a change',
      hint: `Let ${name} ask you: run it in that folder so that it may ask, and answer the question. Or name the account: --account ${shellQuoted(account)}`,
    },
  );
}

export function folderRefused({ endpoint, folder, account }: NamedByFolder): KeyturnError {
  return new KeyturnError(
    'consent_denied',
    `You refused that the project file in ${quoted(folder)} chooses ${quoted(account)} at ${endpoint}.`,
    {
      rule: 'A no counts for the requests that waited for it',
      hint: 'Change or remove the line in .keyturn.toml, or name another account with --account.',
    },
  );
}

/** The person kept the account that signed in, but the program asked for another one by name. */
export function anotherSignedIn(
  name: string,
  endpoint: string,
  { account }: Grant,
  arrived: Grant,
): KeyturnError {
  const who = quoted(arrived.account);
  return new KeyturnError(
    'account_mismatch',
    `The sign-in was for ${quoted(account)}, but ${who} signed in.`,
    {
      facts: { expected: account, signedIn: arrived.account },
      rule: 'A program keeps the account that it works as',
      hint: `Ask again and sign in as ${quoted(account)}. ${who} is signed in at ${endpoint} now, too; to allow ${name} that account: keyturn allow ${shellWord(name)} ${shellWord(endpoint)} --account ${shellQuoted(arrived.account)}`,
    },
  );
}
