/**
 * Explains why a request that is allowed gets no token: each message names the rule and the next step.
 *
 * Invariant: messages name the endpoint, the app, scopes and the issuer, never a token.
 */
import {
  KeyturnError,
  quoted,
  RuleRefusal,
  shellOption,
  shellWord,
  Unreachable,
  detailsOf,
} from '../../base/errors.ts';
import { defaultAccount, type SignIn } from '../records/sign-in.ts';
import type { Permission } from '../records/permission.ts';

/** No app gets a token with more scopes than its permission (invariant 10, dev/internals.md). */
export function notNarrowed({ appId, endpoint, scope = [] }: Permission, signIn: SignIn): KeyturnError {
  return new KeyturnError(
    'scope_insufficient',
    `The token for ${endpoint} allows more than this app may do, and ${signIn.issuer} does not narrow it.`,
    {
      rule: 'An app gets a token only within its permission',
      hint:
        `It may have: ${scope.join(' ') || 'nothing of what you signed in for'}. Allow it all with: ` +
        `keyturn app allow ${shellWord(appId)} ${shellWord(endpoint)} ${shellOption('scope', [...new Set([...scope, ...signIn.scope])].join(' '))}`,
    },
  );
}

/** RFC 6749 §6: a narrower refresh must not change anything else. At this server it does (lost-scope.ts). */
export class NarrowsPermanently extends KeyturnError {
  constructor({ issuer, resource, endpoints, scope }: SignIn) {
    super(
      'scope_insufficient',
      `A narrower token would take access from other apps: ${quoted(issuer)} narrows its refresh token permanently, or ends the other access token.`,
      {
        rule: 'RFC 6749 §6: the scope of a refresh is that of one access token. An app gets a token only within its permission',
        hint: `Let the app ask while a sign-in page may open: it then gets its own sign-in. Or allow it all: keyturn app allow APP ${shellWord(endpoints[0] ?? resource)} ${shellOption('scope', scope.join(' '))}`,
      },
    );
  }
}

/** Scopes that the refresh token lost through an app's narrower token, and that no sign-in has restored. */
export function scopesLost(issuer: string, lost: readonly string[]): string {
  return `${issuer} took ${lost.join(' ')} from its refresh token when an app asked for a narrower one, so it needs a new sign-in`;
}

export function notGranted(endpoint: string, needed: readonly string[], signIn: SignIn): KeyturnError {
  const missing = needed.filter((scope) => !signIn.scope.includes(scope));
  return new KeyturnError(
    'scope_insufficient',
    `${signIn.issuer} was asked for ${(missing.length > 0 ? missing : needed).join(' ')} and did not grant it.`,
    {
      hint: `Check the spelling; spaces separate scopes. If it is right, sign in again: keyturn login ${shellWord(endpoint)} ${shellOption('scope', needed.join(' '))}`,
    },
  );
}

export function stepUpExhausted(endpoint: string): KeyturnError {
  return new KeyturnError('step_up_exhausted', `${endpoint} asked for more scopes too often.`, {
    rule: 'At most 3 step-ups for one operation and 9 in all in 10 minutes; the next one needs you',
    hint: `If you want these scopes, sign in with them: keyturn login ${shellWord(endpoint)} --scope "…"`,
  });
}

/** `pause` in milliseconds: until then a rejection replaces no token. */
export function tokensRejected(endpoint: string, pause: number): KeyturnError {
  return new KeyturnError(
    'token_rejected',
    `${endpoint} rejected several tokens that should have been valid.`,
    {
      rule: 'After 3 rejected tokens within 10 minutes, Keyturn fetches no further one for a while',
      hint: `Ask the operator of the server. The pause ends automatically, or with: keyturn login ${shellWord(endpoint)}`,
      retryAfter: Math.ceil(pause / 1000),
    },
  );
}

export function otherResource(endpoint: string, signIn: SignIn): RuleRefusal {
  return new RuleRefusal('resource_mismatch', `${endpoint} now names another resource, ${signIn.resource}.`, {
    rule: 'A permission is valid only for the resource that it was given for',
    hint: 'If the server really moved, allow the app again.',
  });
}

export function outsideSignIn(endpoint: string, signInId: string): RuleRefusal {
  return new RuleRefusal('resource_mismatch', `The sign-in ${signInId} does not cover ${endpoint}.`, {
    rule: 'A token goes only to the resource it was issued for (RFC 9728 §3.3)',
    hint: `Sign in to it separately: keyturn login ${shellWord(endpoint)}`,
  });
}

/** A server that failed gets no requests for a while. `left` in milliseconds. */
export function serverResting(name: string, left: number): Unreachable {
  return unreachableUntil(
    new Unreachable(
      'authorization_server_unreachable',
      `The authorization server for ${quoted(name)} could not give a token a moment ago.`,
      { hint: 'Keyturn waits before it asks again. Nothing that is stored has changed.' },
    ),
    left,
  );
}

/** `last`: the server's last failure. `left`: milliseconds; a user's own sign-in may try sooner than an app. */
export function resting(last: Unreachable, left: number, isByUser: boolean): Unreachable {
  const seconds = Math.ceil(left / 1000);
  return new Unreachable(
    last.reason,
    `${last.message} That was a moment ago, so Keyturn does not ask it again yet.`,
    {
      ...detailsOf(last),
      rule: 'Keyturn waits before it asks a server that failed again, and obeys its Retry-After',
      hint: `${last.hint === undefined ? '' : `${last.hint} `}Ask again in ${seconds} s.${isByUser ? '' : ' A sign-in of your own (keyturn login) may ask sooner.'}`,
      retryAfter: seconds,
    },
  );
}

/** The same refusal, with the time of the next try; `left` in milliseconds. */
export function unreachableUntil(last: Unreachable, left: number): Unreachable {
  const { reason, message } = last;
  return new Unreachable(reason, message, { ...detailsOf(last), retryAfter: Math.ceil(left / 1000) });
}

/** The command that signs in again; `signIn`: as its account, if the app may know of that. */
export function loginAgain(endpoint: string, { account = defaultAccount }: Partial<SignIn> = {}): string {
  const options = account === defaultAccount ? [] : [shellOption('account', account)];
  return [`keyturn login ${shellWord(endpoint)}`, ...options].join(' ');
}

/** `isUnattended`: by a client without a user, for whose login no browser is needed. */
export function signInRevoked(endpoint: string, signIn?: SignIn, isUnattended = false): KeyturnError {
  return new KeyturnError('login_required', `You revoked the sign-in to ${endpoint}.`, {
    rule: 'Only you can renew a sign-in that you revoked',
    hint: `${isUnattended ? 'Get its tokens again' : 'Sign in again'}: ${loginAgain(endpoint, signIn)}`,
  });
}

/** The server ended it together with a sign-in that the user revoked (tokens/failed-refresh.ts). */
export function endedAlong(endpoint: string, { state }: SignIn, signIn?: SignIn): KeyturnError {
  const why = state.kind === 'signInRequired' ? state.why : 'it ended';
  return new KeyturnError('login_required', `Sign in again to ${endpoint}: ${why}.`, {
    rule: 'Only you can renew a sign-in that you revoked',
    hint: `Sign in again: ${loginAgain(endpoint, signIn)}`,
  });
}

/** `scope`: what the new sign-in has to ask for, if that is more than the last one. */
export function noSignIn(endpoint: string, why: string, scope: readonly string[] = []): KeyturnError {
  return new KeyturnError('login_required', `No token for ${endpoint}: ${why}.`, {
    hint: loginFor(endpoint, scope),
  });
}

function loginFor(endpoint: string, scope: readonly string[]): string {
  const options = scope.length > 0 ? [shellOption('scope', scope.join(' '))] : [];
  return [`Sign in with: keyturn login ${shellWord(endpoint)}`, ...options].join(' ');
}

/** Why an existing sign-in needs a user, for `noSignIn`. */
export function whyAgain({ state }: SignIn): string {
  const why = state.kind === 'signInRequired' ? `: ${state.why}` : '';
  return `it needs a new sign-in${why}`;
}

export function lastPageFailed(endpoint: string, scope: readonly string[] = []): KeyturnError {
  return new KeyturnError('login_required', `No token for ${endpoint}: the last sign-in failed.`, {
    rule: 'Keyturn opens one sign-in page automatically; you start the next one',
    hint: loginFor(endpoint, scope),
  });
}

export function pageWithdrawn(endpoint: string, retryAfter: number): KeyturnError {
  return new KeyturnError(
    'rate_limited',
    `A moment ago, an app disconnected while a sign-in page for ${endpoint} was open.`,
    {
      rule: 'Each withdrawn page doubles the pause before the next one for its server, from 1 s to 5 min',
      hint: `Wait, then ask again; or sign in now: keyturn login ${shellWord(endpoint)}`,
      retryAfter,
    },
  );
}

export function uselessSignIn(endpoint: string): KeyturnError {
  return new KeyturnError(
    'token_invalid',
    `The sign-in for ${endpoint} gave a token that has already expired.`,
    {
      rule: 'One sign-in page for one request',
      hint: 'Check the clock of this machine. If it is right, tell the operator of the authorization server.',
    },
  );
}

export function changesTooFast(endpoint: string): KeyturnError {
  return new KeyturnError('conflict', `The sign-in to ${endpoint} kept changing during this request.`, {
    hint: 'Look at `keyturn sign-in list`, then try again.',
  });
}

export function noSuchSignIn(): KeyturnError {
  return new KeyturnError('not_found', 'No sign-in with this id waits for an address.', {
    hint: 'Start one with: keyturn login URL --paste',
  });
}

/** The user asked for a new client, but Keyturn doesn't replace the one that the user entered. */
export function enteredClientStays(issuer: string, clientId: string): KeyturnError {
  return new KeyturnError('conflict', `You entered the client ${quoted(clientId)} for ${quoted(issuer)}.`, {
    rule: 'Keyturn never replaces a client that you entered',
    hint: `Enter another one with: keyturn oauth-client add ${shellWord(issuer)} --client-id ID`,
  });
}

/** The request did nothing: the next broker can answer it. */
export function brokerStopping(): Unreachable {
  return new Unreachable('broker_stopping', 'The broker is being stopped or replaced.', {
    rule: 'A stopping broker finishes its refreshes and begins nothing new',
    hint: 'Ask again in a moment: another broker answers, or the next command starts one.',
    retryAfter: 1,
  });
}
