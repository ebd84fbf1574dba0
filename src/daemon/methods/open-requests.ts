/**
 * Open questions in the wire's words: what a card or `keyturn request list` shows.
 *
 * Invariants: the URL and the code that finish a sign-in go only to callers that may finish it. An address that a
 * server wants opened goes where those of an app's sign-in go. A question whose words the wire's schema doesn't take
 * isn't opened: one such answer would make the whole list unreadable, and hide every other question.
 */
import { shownApiKey } from '../../broker/records/api-key.ts';
import type { ProcessFacts } from '../../broker/approval-requests/app-process.ts';
import { wholeSeconds } from '../../base/clock.ts';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { questionTimeout } from '../../broker/approval-requests/approval-requests.ts';
import type { ApprovalRequest } from '../../broker/approval-requests/approval-requests.ts';
import type { CommandApproval, OfferedSignIn, Question } from '../../broker/approval-requests/question.ts';
import type { SignInDetails } from '../../broker/approval-requests/starter.ts';
import { approvalRequest } from '../../ipc/protocol/schemas/request-schema.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { maxLength } from '../../ipc/wire/limits.ts';
import { formatScope } from '../../oauth/base/scope.ts';
import { spelled } from '../system/spelling.ts';

/** The facts only; the functions of a client process stay here. */
export function processAnswer({
  verified,
  ...facts
}: ProcessFacts): NonNullable<ApprovalRequestAnswer['appProcess']> {
  const { pid, executable, file, changeableBy, claim, enclosures, parents } = facts;
  return {
    verified,
    pid,
    executable,
    file,
    changeableBy,
    ...(claim === undefined ? {} : { claim: { ...claim, arguments: [...claim.arguments] } }),
    ...(enclosures === undefined ? {} : { enclosures: [...enclosures] }),
    ...(parents === undefined ? {} : { parents: [...parents] }),
  };
}

type ApprovalRequestAnswer = ResultOf<'request.list'>['requests'][number];

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
      return {
        ...card,
        card: onCard,
        app: question.appName,
        ...appProcessAnswer(question),
        ...(question.isDetached ? { detached: true as const } : {}),
        forward: question.forward,
        resource: question.endpoint + (question.query ?? ''),
        ...(question.apiKey === undefined ? {} : { apiKey: shownApiKey(question.apiKey) }),
        ...(question.scope === undefined ? {} : { scope: formatScope(question.scope) }),
        ...offeredAnswer(question.signIn),
      };
    case 'pair':
      return {
        ...common,
        app: question.appName,
        code: question.code,
        forward: question.forward,
        ...(question.appProcess === undefined ? {} : { appProcess: processAnswer(question.appProcess) }),
      };
    case 'signIn':
    case 'device':
      return { ...common, ...signInAnswer(question, mayFinish) };
    case 'account':
      return {
        ...card,
        resource: question.endpoint,
        issuer: spelled(question.issuer),
        account: question.account,
        accounts: [...question.known],
      };
    case 'url':
      return {
        ...card,
        app: question.appName,
        ...(question.appProcess === undefined ? {} : { appProcess: processAnswer(question.appProcess) }),
        resource: question.endpoint,
        server: new URL(question.url).origin,
        ...(mayFinish ? { url: question.url } : {}),
        message: question.message,
      };
    case 'choice':
      return { ...card, ...choiceAnswer(question) };
    case 'settings':
      return { ...card, ...settingsAnswer(question) };
    case 'command':
      return { ...card, appProcess: processAnswer(question.appProcess), ...requestAnswer(question.request) };
  }
}

function settingsAnswer({ settings, allowed }: Extract<Question, { kind: 'settings' }>) {
  return {
    settings: settings.map((setting) => ({ ...setting })),
    allowed: allowed.map((group) => ({ ...group, lines: [...group.lines] })),
  };
}

/** By a proxy, the process is Keyturn's own: who uses the address isn't known. */
function appProcessAnswer({
  appProcess,
  proxied,
}: Extract<Question, { readonly kind: 'allow' | 'choice' }>): Partial<ApprovalRequestAnswer> {
  if (proxied) return { proxied };
  return appProcess === undefined ? {} : { appProcess: processAnswer(appProcess) };
}

function choiceAnswer(
  question: Extract<Question, { readonly kind: 'choice' }>,
): Partial<ApprovalRequestAnswer> {
  const { appName, endpoint, accounts } = question;
  return {
    app: appName,
    ...appProcessAnswer(question),
    resource: endpoint,
    accounts: [...accounts],
  };
}

type SignInQuestion = Extract<Question, { readonly kind: 'signIn' | 'device' }>;

function signInAnswer(question: SignInQuestion, mayFinish: boolean): Partial<ApprovalRequestAnswer> {
  const common = {
    resource: question.endpoint + (question.query ?? ''),
    issuer: spelled(question.issuer),
    account: question.account,
    ...(question.beside === undefined ? {} : { accounts: [...question.beside] }),
    startedBy: starterAnswer(question),
  };
  if (question.kind === 'device') {
    return mayFinish
      ? { ...common, code: question.userCode, url: question.completeUrl ?? question.url }
      : common;
  }
  return {
    ...common,
    ...(mayFinish ? { url: question.url } : {}),
    hint: question.hint,
    ...(mayFinish && question.startUrl !== undefined ? { startUrl: question.startUrl } : {}),
    newClient: question.isNewClient,
    ...(question.ifForgotten === 'byHand' ? { replacedByHand: true as const } : {}),
    ...(question.browserError === undefined
      ? {}
      : { browserError: question.browserError.slice(0, maxLength.setting) }),
    ...(question.stateless === undefined ? {} : { stateless: question.stateless.slice(0, maxLength.id) }),
    ...(question.formerIssuer === undefined ? {} : { formerIssuer: spelled(question.formerIssuer) }),
  };
}

/** A sign-in without a starter is nobody's but the windows'. */
const starterAnswer = ({ starter }: SignInDetails): 'app' | 'command' | 'window' => starter?.by ?? 'window';

/** Whose tokens an approval allows. */
function offeredAnswer(signIn: OfferedSignIn | undefined): Partial<ApprovalRequestAnswer> {
  if (!signIn) return {};
  const { issuer, account, isKeyBound, otherAccounts, isAnother } = signIn;
  const tokenType = isKeyBound ? 'DPoP' : 'Bearer';
  return {
    issuer: spelled(issuer),
    account,
    tokenType,
    ...(isAnother ? { accounts: [...otherAccounts] } : {}),
  };
}

type PermissionRequest = Extract<CommandApproval, { readonly command: 'allow' | 'endDenial' }>;

/** Which account a permission is for, or which ones a denial is about. */
function whoseAnswer(request: PermissionRequest): Partial<ApprovalRequestAnswer> {
  if (request.command === 'allow') return request.account === undefined ? {} : { account: request.account };
  return request.accounts === undefined ? {} : { accounts: [...request.accounts] };
}

function requestAnswer(request: CommandApproval): Partial<ApprovalRequestAnswer> {
  const { command } = request;
  switch (command) {
    case 'allow':
    case 'endDenial':
      return {
        command,
        app: request.appName,
        resource: request.endpoint,
        ...(request.scope === undefined ? {} : { scope: formatScope(request.scope) }),
        apiKey: request.apiKey,
        ...whoseAnswer(request),
        ...(request.until === undefined ? {} : { until: wholeSeconds(request.until) }),
      };
    case 'apiKey':
      return {
        command,
        resource: request.endpoint,
        apiKey: request.apiKey,
        replaces: request.replaces,
        unchecked: request.isUnchecked,
      };
    case 'oauthClient':
      return request;
    case 'signIn':
      return {
        command,
        resource: request.endpoint,
        method: request.method,
        issuer: request.issuer,
        account: request.account,
        ...(request.scope === undefined ? {} : { scope: formatScope(request.scope) }),
        newClient: request.isNewClient,
      };
    case 'proxy':
      return { command, resource: request.endpoint, app: request.name };
    case 'forward': {
      const { forward, endpoints, until } = request;
      return { command, forward, resources: [...endpoints], until: wholeSeconds(until) };
    }
    case 'exception':
      return { command, server: request.server, exception: request.exception };
    case 'settings': {
      const { name, value } = request;
      return { command, setting: { name, value } };
    }
    case 'unlock':
    case 'passphrase':
    case 'backup':
    case 'resume':
      return { command };
  }
}
