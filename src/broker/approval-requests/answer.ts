/**
 * The answers that a user can give to a question, and their terms.
 *
 * Invariants: only the approval of an app or of a choice has terms, and terms give no scope and no account that the
 * question doesn't show. Terms that can't be kept are refused before the question closes.
 */
import { KeyturnError, quoted, shellOption, shellWord } from '../../base/errors.ts';
import type { AllowQuestion, Question } from './question.ts';
import { cliAppId } from '../records/app.ts';

/** `deny`: a denial of an app is stored. `dismiss`: nothing is stored, and the app may ask again. */
export type Answer = 'approve' | 'deny' | 'dismiss';

/** How a question ended. `void`: the process that asked is no longer the one that the card showed. */
export type Verdict = Answer | 'void';

export interface Terms {
  /** Exactly these scopes instead of those on the card. If the card names scopes, these must be among them. */
  readonly scope?: readonly string[];
  /** Only for the run that asked. */
  readonly run?: boolean;
  /** Only for the run that asked, and only one token. */
  readonly once?: boolean;
  /** Duration in milliseconds. */
  readonly time?: number;
  /** As long as what it may do there already, at the time when the answer is kept. */
  readonly asBefore?: boolean;
  /** Of a choice: the account. */
  readonly account?: string;
}

export interface Decision extends Terms {
  readonly verdict: Verdict;
}

/** Throws `invalid_request` for terms that don't fit, `conflict` if the run or permission they rest on has ended. */
export function refuseTerms(question: Question, answer: Answer, terms: Terms): void {
  if (question.kind === 'choice' && answer === 'approve') return refuseOtherAccount(question, terms);
  const { run, once, asBefore } = terms;
  if (Object.values(terms).every((term) => term === undefined)) return;
  if (answer !== 'approve' || question.kind !== 'allow') {
    throw new KeyturnError('invalid_request', 'This answer has no options.', {
      rule: 'Only the approval of an app’s access can be limited, and only a choice of accounts names one',
      hint: 'Answer it without them.',
    });
  }
  if (terms.account !== undefined) throw fixedAccount(question);
  refuseWider(question, terms);
  if (asBefore === true && question.canAllowAsBefore?.() !== true) throw nothingBefore(question.appName);
  if (run !== true && once !== true) return;
  if (question.isDetached === true) {
    throw new KeyturnError('invalid_request', `${question.appName} can’t be allowed once or for one run.`, {
      rule: 'The process that asked may have ended: this request goes on without it',
      hint: 'Allow it for a time, or until you end it.',
    });
  }
  if (run === true && question.appId === cliAppId) {
    throw new KeyturnError('invalid_request', 'The command line can’t be allowed for one run.', {
      rule: 'A permission for a run ends with its connection, and a command’s connection ends with the command',
      hint: 'Allow it once, or for a time.',
    });
  }
  if (run === true && question.proxied === true) {
    throw new KeyturnError('invalid_request', 'A proxy’s address can’t be allowed for one run.', {
      rule: 'Keyturn doesn’t know which app uses the address, so it can’t see it quit',
      hint: 'Allow it once, or for a time.',
    });
  }
  if (question.appProcess?.nowIs() === 'same') return;
  throw new KeyturnError('conflict', `The run of ${question.appName} that asked has ended.`, {
    rule: 'A permission for a run, or for once, ends with the run’s last connection',
    hint: 'Allow it for a time, or wait until it asks again.',
  });
}

/** A choice is permanent, and among the accounts that the question names. */
function refuseOtherAccount(
  { accounts }: Extract<Question, { readonly kind: 'choice' }>,
  { account, ...others }: Terms,
): void {
  const isPlain = Object.values(others).every((term) => term === undefined);
  const isNamed = account !== undefined && accounts.includes(account);
  if (isPlain && isNamed) return;
  throw new KeyturnError(
    'invalid_request',
    'An approval of this request names one of its accounts, and nothing else.',
    {
      rule: 'A choice is among the accounts that the app may use',
      hint: `Name one: ${accounts.map((one) => shellOption('account', one)).join(', ')}`,
    },
  );
}

/** An approval may give less than the question asks, never more. A question without scopes covers all scopes. */
function refuseWider({ appName, endpoint, scope: asked }: AllowQuestion, { scope = [] }: Terms): void {
  const others = asked === undefined ? [] : scope.filter((name) => !asked.includes(name));
  if (asked === undefined || others.length === 0) return;
  const names = (scopes: readonly string[]): string => scopes.map(quoted).join(', ');
  throw new KeyturnError('invalid_request', `The request does not ask for ${names(others)}.`, {
    rule: 'An approval allows what the request shows, or less',
    hint: `It asks for ${names(asked)}. To allow other scopes: keyturn app allow ${shellWord(appName)} ${shellWord(endpoint)} --scope "A B"`,
  });
}

function fixedAccount({ appName, endpoint }: AllowQuestion): KeyturnError {
  return new KeyturnError('invalid_request', 'The request does not ask for an account of your choice.', {
    rule: 'An approval allows what the request shows, or less',
    hint: `To allow another account: keyturn app allow ${shellWord(appName)} ${shellWord(endpoint)} --account ACCOUNT`,
  });
}

function nothingBefore(name: string): KeyturnError {
  return new KeyturnError('conflict', `What ${name} was allowed there before has ended.`, {
    rule: 'An approval "as before" lasts as long as the permission that exists at that moment',
    hint: 'Nothing was allowed. Allow it for a time of its own, or deny it.',
  });
}

/** `conflict` if the process that asked is no longer the one that the card showed; else undefined. */
export function changedApp(question: Question): KeyturnError | undefined {
  // The other kinds of question show no process.
  if (!('appProcess' in question)) return undefined;
  if (question.appProcess?.nowIs() !== 'changed') return undefined;
  const who = question.kind === 'command' ? 'ran the command' : `asked as ${question.appName}`;
  return new KeyturnError('conflict', `The process that ${who} is no longer the same program.`, {
    rule: 'Keyturn checks again who asks when you answer; if that changed, the request is void',
    hint: 'Nothing was allowed. If you expect the app, let it ask again.',
  });
}
