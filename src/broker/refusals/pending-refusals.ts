/**
 * Describes what a request was waiting for when its time ran out: the open page or question, and what to do if that
 * page shows an error.
 *
 * Invariant: a client is called replaceable only if another may replace it without the user entering it.
 */
import { KeyturnError, quoted, shellOption, shellWord, Unreachable } from '../../base/errors.ts';
import type { ApprovalRequest } from '../approval-requests/approval-requests.ts';
import type { PageQuestion, Question } from '../approval-requests/question.ts';

export function anotherPageFirst(endpoint: string, isKeyturnApp: boolean): KeyturnError {
  return new KeyturnError(
    'login_pending',
    `The sign-in to ${endpoint} waits until another one is finished.`,
    {
      rule: 'One automatic sign-in page at a time',
      hint: isKeyturnApp
        ? 'Open the waiting one in Keyturn’s window and finish it, then ask again.'
        : 'Finish the one that `keyturn request list` shows, then ask again.',
    },
  );
}

interface WaitingRequest {
  /** Absent: the user's own sign-in. */
  readonly appId: string | undefined;
  readonly endpoint: string;
  /** True if the user answers in the broker's own windows; false if by commands. */
  readonly isKeyturnApp: boolean;
}

/** What the request was waiting for when its time ran out: its open question, if any. */
export function refusalAtDeadline(
  approvalRequests: readonly ApprovalRequest[],
  { appId, endpoint, isKeyturnApp }: WaitingRequest,
): KeyturnError {
  // What only this app waits for comes first: another sign-in at the endpoint doesn't answer it.
  const isOwn = ({ question }: ApprovalRequest): boolean =>
    question.kind === 'allow' || question.kind === 'choice';
  // Newest first: an earlier run of the app may have left its request.
  const own = approvalRequests.filter(isOwn).toReversed();
  const inOrder = [...own, ...approvalRequests.filter((one) => !isOwn(one))];
  for (const { id, question } of inOrder) {
    if (question.kind === 'allow' && question.appId === appId && question.endpoint === endpoint) {
      const problem = `${question.appName} waits for your approval to use ${endpoint}.`;
      return new KeyturnError('consent_pending', problem, { hint: answerWith(id, isKeyturnApp) });
    }
    if (question.kind === 'choice' && question.appId === appId && question.endpoint === endpoint) {
      const problem = `${question.appName} waits until you choose its account at ${endpoint}.`;
      const hint = isKeyturnApp ? answerWith(id, isKeyturnApp) : choiceHint(id, question.accounts);
      return new KeyturnError('consent_pending', problem, { hint });
    }
    const isSignIn = question.kind === 'signIn' || question.kind === 'device';
    if (isSignIn && question.endpoint === endpoint) {
      // An app asks again: for it the sign-in still waits.
      const stateless = appId === undefined && question.kind === 'signIn' ? question.stateless : undefined;
      return stateless === undefined
        ? unfinished(question, isKeyturnApp)
        : cameStateless(question, stateless);
    }
    if (question.kind === 'account' && question.endpoint === endpoint) {
      return new KeyturnError(
        'login_pending',
        `The sign-in at ${question.issuer} is by another account, and waits for your approval.`,
        {
          rule: 'A sign-in as another account is kept only if you approve it',
          hint: answerWith(id, isKeyturnApp),
        },
      );
    }
  }
  return new Unreachable('authorization_server_unreachable', `No answer for ${endpoint} in the time given.`, {
    hint: 'Ask again, or give a longer --timeout.',
  });
}

function answerWith(id: string, isKeyturnApp: boolean): string {
  return isKeyturnApp
    ? 'Answer in Keyturn’s window, then ask again.'
    : `Answer with: keyturn request approve ${shellWord(id)}   (or deny)`;
}

function choiceHint(id: string, accounts: readonly string[]): string {
  const [first = ''] = accounts;
  return `Answer with: keyturn request approve ${shellWord(id)} ${shellOption('account', first)}   (of ${accounts.map(quoted).join(', ')})`;
}

function unfinished(
  question: Extract<Question, { readonly kind: 'signIn' | 'device' }>,
  isKeyturnApp: boolean,
): KeyturnError {
  const finish = isKeyturnApp
    ? 'Open it in Keyturn’s window and finish it in the browser, then ask again.'
    : 'Finish it in the browser, then ask again. `keyturn request list` shows its address.';
  const ways = question.kind === 'signIn' ? elsewhere(question) + pageFails(question, isKeyturnApp) : '';
  return new KeyturnError('login_pending', `The sign-in at ${question.issuer} is not finished.`, {
    hint: `${finish}${ways}`,
  });
}

/** Follows a hint. */
const elsewhere = (page: PageQuestion): string =>
  page.browserError === undefined
    ? ''
    : ` Without a browser on this machine: ${loginAgain(page, '--paste')}.`;

/** Follows a hint; empty if no remedy is known. */
function pageFails(page: PageQuestion, isKeyturnApp: boolean): string {
  const { hint } = page;
  const way = wayPastError(page, isKeyturnApp);
  if (way === undefined)
    return hint === undefined ? '' : ` If the page shows an error without a reason: ${hint}.`;
  return ` ${way}${hint === undefined ? '' : `. If that does not help: ${hint}.`}`;
}

/** A server shows only to the user that it forgot its client (OAuth 2.1 §4.1.2.1). A sentence without its full stop. */
function wayPastError(page: PageQuestion, isKeyturnApp: boolean): string | undefined {
  const { ifForgotten } = page;
  if (ifForgotten === undefined) return undefined;
  if (ifForgotten === 'byHand') return `If the page shows an error, ${enterAgain(page)}`;
  if (isKeyturnApp) return 'If the page shows an error, say so there';
  return `If the page shows an error: ${loginAgain(page, '--new-client')}`;
}

const enterAgain = (page: AskedSignIn): string =>
  `enter the client again: ${loginAgain(page, '--client-id ID')}`;

type AskedSignIn =
  | Pick<PageQuestion, 'kind' | 'endpoint' | 'account' | 'startUrl'>
  | Pick<Extract<Question, { readonly kind: 'device' }>, 'kind' | 'endpoint' | 'account'>;

/** The command for the same sign-in, on the same way. */
export function loginAgain(question: AskedSignIn, ...options: readonly string[]): string {
  const { kind, endpoint, account } = question;
  const isPasted = kind === 'signIn' && question.startUrl === undefined;
  return [
    `keyturn login ${shellWord(endpoint)}`,
    ...(account === undefined ? [] : [shellOption('account', account)]),
    ...options,
    ...(kind === 'device' ? ['--device'] : isPasted ? ['--paste'] : []),
  ].join(' ');
}

export function calledOff(question: AskedSignIn & { readonly issuer: string }): KeyturnError {
  return new KeyturnError('login_failed', `The sign-in at ${question.issuer} was cancelled.`, {
    hint: `Start it again with: ${loginAgain(question)}`,
  });
}

/** What an answer without `state` says; its error code is empty if it has none. */
export const statelessWords = (error: string): string =>
  `An answer came without \`state\`${error === '' ? '' : `: ${quoted(error)}`}.`;

/** No other answer came. It isn't known who sent that one. */
function cameStateless(
  { issuer, endpoint }: Pick<PageQuestion, 'issuer' | 'endpoint'>,
  error: string,
): KeyturnError {
  const isAboutScope = error === 'invalid_scope';
  return new KeyturnError('login_failed', `The sign-in at ${issuer} failed. ${statelessWords(error)}`, {
    rule: 'RFC 6749 §4.1.2.1: an answer has the state of its request',
    hint: isAboutScope
      ? `Name exactly the scopes that the authorization server knows: keyturn login ${shellWord(endpoint)} --scope "…"`
      : 'Tell the operator of the authorization server that its answer has no state.',
  });
}

/** The page's time ran out. */
export class PageTimedOut extends KeyturnError {}

export function nobodyCame(page: PageQuestion): KeyturnError {
  const { issuer, hint, ifForgotten, stateless } = page;
  if (stateless !== undefined) return cameStateless(page, stateless);
  const ways = {
    register: '; add --new-client if its page shows an error',
    byHand: `; if its page shows an error, ${enterAgain(page)}`,
  };
  const hints = [
    `Start it again with: ${loginAgain(page)}`,
    ifForgotten === undefined ? '' : ways[ifForgotten],
    hint === undefined ? '' : `. If the page shows an error without a reason: ${hint}.`,
  ];
  return new PageTimedOut('login_required', `You did not sign in at ${issuer} within ten minutes.`, {
    hint: hints.join(''),
  });
}
