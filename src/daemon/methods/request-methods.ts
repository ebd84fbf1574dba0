/**
 * The owner's methods about open questions: what a card or `keyturn request list` shows, and the answer.
 *
 * Invariants: the URL and the code that finish a sign-in go only to callers that may finish it. An address that a
 * server wants opened goes where those of an app's sign-in go. A question whose words the wire's schema doesn't take
 * isn't opened: one such answer would make the whole list unreadable, and hide every other question.
 */
import { shownApiKey } from '../../broker/records/api-key.ts';
import type { ProcessFacts } from '../../broker/approval-requests/app-process.ts';
import { wholeSeconds } from '../../base/clock.ts';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { questionTimeout, type ApprovalRequest } from '../../broker/approval-requests/approval-requests.ts';
import type { OfferedSignIn, Question } from '../../broker/approval-requests/question.ts';
import { approvalRequest } from '../../ipc/protocol/schemas/request-schema.ts';
import { maxLength } from '../../ipc/wire/limits.ts';
import { formatScope, parseScope } from '../../oauth/base/scope.ts';
import type { ApprovalRequestAnswer, CommandApproval } from '../approvals/widening.ts';
import { spelled } from '../system/spelling.ts';
import type { Handlers } from './services.ts';

export const requestMethods = {
  'request.list': ({ broker, signIns }, caller) => ({
    requests: broker.parts.approvalRequests.list().map((open) => ({
      ...approvalRequestAnswer(open, signIns.mayFinish(caller, open.question)),
      own: signIns.isOwn(caller, open.question) || undefined,
    })),
  }),

  'request.answer': ({ broker }, _caller, { id, answer, scope, duration, account }) => {
    const { seconds, ...terms } = duration ?? {};
    broker.parts.approvalRequests.answer(id, answer, {
      ...terms,
      scope: scope === undefined ? undefined : parseScope(scope),
      time: seconds && seconds * 1000,
      account,
    });
  },
} satisfies Partial<Handlers>;

/** The facts only; the functions of an app's process stay here. */
export function processAnswer(facts: ProcessFacts): NonNullable<ApprovalRequestAnswer['appProcess']> {
  const { verified, pid, executable, file, changeableBy, claim, enclosures, parents } = facts;
  return { verified, pid, executable, file, changeableBy, claim, enclosures, parents };
}

/** Throws `invalid_request` for a question that no list can hold, since one of its texts is too long. */
export function requireShowable(open: ApprovalRequest): void {
  const { error } = approvalRequest.safeParse(approvalRequestAnswer(open, true));
  if (error === undefined) return;
  const field = error.issues[0]?.path.join('.') ?? '';
  throw new KeyturnError(
    'invalid_request',
    `No card can show this request: its ${quoted(field)} is too long.`,
    {
      rule: 'A card shows all that it asks about, and a request that can’t be shown is rejected',
      hint: 'Ask for fewer scopes at a time (--scope), or by shorter names.',
    },
  );
}

/** `mayFinish`: the answer says how to finish a sign-in, and names the address that is to be opened. */
export function approvalRequestAnswer(
  { id, question, createdAt, card: onCard }: ApprovalRequest,
  mayFinish: boolean,
): ApprovalRequestAnswer {
  const common = { id, kind: question.kind, createdAt: wholeSeconds(createdAt), state: 'open' };
  const card = { ...common, expiresAt: wholeSeconds(createdAt + questionTimeout) };
  switch (question.kind) {
    case 'allow':
      return { ...card, card: onCard, ...allowAnswer(question) };
    case 'pair':
      return {
        ...common,
        app: question.appName,
        code: question.code,
        forward: question.forward,
        appProcess: question.appProcess && processAnswer(question.appProcess),
      };
    case 'signIn':
    case 'device':
      return { ...common, ...openSignInAnswer(question, mayFinish) };
    case 'account':
      return {
        ...card,
        resource: question.endpoint,
        issuer: spelled(question.issuer),
        account: question.account,
        accounts: question.known,
      };
    case 'url':
      return {
        ...card,
        app: question.appName,
        appProcess: question.appProcess && processAnswer(question.appProcess),
        resource: question.endpoint,
        server: new URL(question.url).origin,
        url: mayFinish ? question.url : undefined,
        message: question.message,
      };
    case 'choice':
      return {
        ...card,
        app: question.appName,
        ...appProcessAnswer(question),
        resource: question.endpoint,
        accounts: question.accounts,
      };
    case 'settings':
      return { ...card, settings: question.settings, allowed: question.allowed };
    case 'command':
      return {
        ...card,
        appProcess: processAnswer(question.appProcess),
        ...(question.request as CommandApproval),
      };
  }
}

function allowAnswer(question: Extract<Question, { kind: 'allow' }>): Partial<ApprovalRequestAnswer> {
  return {
    app: question.appName,
    ...appProcessAnswer(question),
    detached: question.isDetached || undefined,
    forward: question.forward,
    resource: question.endpoint + (question.query ?? ''),
    apiKey: question.apiKey && shownApiKey(question.apiKey),
    scope: question.scope && formatScope(question.scope),
    ...offeredAnswer(question.signIn),
  };
}

/** By a proxy, the process is Keyturn's own: who uses the address isn't known. */
function appProcessAnswer({
  appProcess,
  proxied,
}: Extract<Question, { readonly kind: 'allow' | 'choice' }>): Partial<ApprovalRequestAnswer> {
  if (proxied) return { proxied };
  return { appProcess: appProcess && processAnswer(appProcess) };
}

type SignInQuestion = Extract<Question, { readonly kind: 'signIn' | 'device' }>;

function openSignInAnswer(question: SignInQuestion, mayFinish: boolean): Partial<ApprovalRequestAnswer> {
  const common = {
    resource: question.endpoint + (question.query ?? ''),
    issuer: spelled(question.issuer),
    account: question.account,
    accounts: question.beside,
    scope: question.added?.length ? formatScope(question.added) : undefined,
    // A sign-in without a starter is nobody's but the windows'.
    startedBy: question.starter?.by ?? ('window' as const),
  };
  if (question.kind === 'device') {
    const { userCode, completeUrl, url } = question;
    return mayFinish ? { ...common, code: userCode, url: completeUrl ?? url } : common;
  }
  return {
    ...common,
    url: mayFinish ? question.url : undefined,
    hint: question.hint,
    startUrl: mayFinish ? question.startUrl : undefined,
    newClient: question.isNewClient,
    replacedByHand: question.ifForgotten === 'byHand' || undefined,
    browserError: question.browserError?.slice(0, maxLength.setting),
    stateless: question.stateless?.slice(0, maxLength.id),
    formerIssuer: question.formerIssuer && spelled(question.formerIssuer),
  };
}

/** Whose tokens an approval allows. */
function offeredAnswer(signIn: OfferedSignIn | undefined): Partial<ApprovalRequestAnswer> {
  if (!signIn) return {};
  const { issuer, account, isKeyBound, otherAccounts, isAboutAccountOnly } = signIn;
  return {
    issuer: spelled(issuer),
    account,
    tokenType: isKeyBound ? 'DPoP' : 'Bearer',
    accounts: isAboutAccountOnly ? otherAccounts : undefined,
  };
}
