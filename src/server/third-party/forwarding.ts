/**
 * The upstream sign-in of one authorization.
 *
 * Invariant: it runs after the user's consent in the same browser (`answerForwarded`). The redirect URI is one fixed
 * address. A client gets no scope that the upstream didn't grant, and a failure reaches it in our words only.
 */
import { AuthorizationResponseError } from 'openid-client';
import type { ForwardedResult, Forwarding, SignInStep } from '../authorization/accounts/accounts.ts';
import {
  accountOf,
  answerOf,
  redirectUriOf,
  stateFor,
  subjectSchema,
} from '../authorization/accounts/upstream-accounts.ts';
import { UpstreamFault, upstreamProblem } from '../authorization/accounts/upstream-client.ts';
import { errorPage } from '../authorization/base/pages.ts';
import { shownFault } from '../resource/base/fault.ts';
import { fetchTo } from '../resource/upstream.ts';
import type { Ending, SessionParts } from './ending.ts';
import type { Upstream } from './options.ts';
import type { UpstreamTokens } from './session.ts';
import type { SessionStatus } from './status.ts';
import { startedSchema, type SignedIn } from './upstream-server.ts';

export interface ForwardingParts extends SessionParts {
  readonly upstream: Upstream;
  /** For the upstream resource: it trusts the upstream's authorities. */
  readonly fetch: typeof globalThis.fetch;
  readonly status: SessionStatus;
  readonly ending: Ending;
}

type AskedHere = Parameters<Forwarding['signIn']>[1];

/** Scopes that say something of the sign-in here, and need none upstream. */
const ownScopes: ReadonlySet<string> = new Set(['openid', 'offline_access']);

export function forwardingOf(parts: ForwardingParts): Forwarding {
  return {
    host: new URL(parts.upstream.issuer).host,
    signIn: async (step, asked) =>
      step.query.has('state') ? finish(parts, step, asked) : start(parts, step, asked),
    async isLive(grantId) {
      const { state } = await parts.status.standing(grantId);
      if (state === 'unavailable') throw new Error('the upstream can not be reached');
      return state === 'valid';
    },
    ended: async (grantId) => void (await parts.ending.end(grantId, 'revoked')),
  };
}

async function start(
  { upstream, server, onEvent }: ForwardingParts,
  step: SignInStep,
  asked: AskedHere,
): Promise<ForwardedResult> {
  const needed = asked.scopes.flatMap((scope) => neededBy(upstream, scope) ?? []);
  try {
    const scopes = [...new Set([...upstream.extraScopes, ...needed])];
    const { url, started } = await server.start(redirectUriOf(step), stateFor(step), scopes);
    await step.keep({ ...started });
    return { redirect: url };
  } catch (error) {
    const problem = upstreamProblem(error);
    onEvent({ kind: 'upstream_unavailable', problem });
    return { ...(error instanceof UpstreamFault ? failed : unavailable), problem };
  }
}

type Failure = Extract<ForwardedResult, { error: string }>;

const unavailable: Failure = {
  error: 'temporarily_unavailable',
  description: 'the upstream authorization server can not be reached',
};

const failed: Failure = {
  error: 'server_error',
  description: 'the answer of the upstream authorization server can not be used',
};

async function finish(parts: ForwardingParts, step: SignInStep, asked: AskedHere): Promise<ForwardedResult> {
  const started = startedSchema.safeParse(await step.take());
  if (!started.success || step.query.get('state') !== started.data.state) {
    // Not the answer to what was asked, so it says nothing about it: the client isn't told anything either.
    const said =
      'This address takes one answer of the sign-in that was started last in this browser. This is another.';
    return { page: errorPage('invalid_request', said), status: 400 };
  }
  let signedIn: SignedIn;
  try {
    const drop = async (tokens: UpstreamTokens): Promise<void> => parts.ending.drop(undefined, tokens);
    signedIn = await parts.server.finish(answerOf(step), started.data, drop);
  } catch (error) {
    // State and issuer were checked before the error was read.
    const result = failureOf(error);
    const problem = upstreamProblem(error);
    if (result.error !== 'access_denied') parts.onEvent({ kind: 'upstream_unavailable', problem });
    return { ...result, problem };
  }
  return accept(parts, asked, signedIn);
}

/** MCP 2025-03-26, Third-Party Authorization Flow. */
function failureOf(error: unknown): Failure {
  const code = error instanceof AuthorizationResponseError ? error.error : undefined;
  // Some providers have own words for a user who refused.
  if (code !== undefined && /denied|cancel/.test(code))
    return { error: 'access_denied', description: 'the upstream authorization server refused the sign-in' };
  if (code === 'temporarily_unavailable') return unavailable;
  return failed;
}

/** From here on a failure must not leave tokens behind that nobody revokes. */
async function accept(
  parts: ForwardingParts,
  asked: AskedHere,
  { account, tokens }: SignedIn,
): Promise<ForwardedResult> {
  const { upstream, sessions, ending, now, onEvent } = parts;
  const drop = async (result: ForwardedResult): Promise<ForwardedResult> => {
    await ending.drop(undefined, tokens);
    return result;
  };
  let name: string;
  try {
    name = account ?? (await subjectBy(parts, tokens.accessToken));
  } catch (error) {
    const problem = upstreamProblem(error);
    onEvent({ kind: 'upstream_unavailable', problem });
    return drop({ ...failed, problem });
  }
  const given = new Set(tokens.scope.split(' '));
  const scopes = asked.scopes.filter(
    (scope) => ownScopes.has(scope) || (neededBy(upstream, scope)?.every((each) => given.has(each)) ?? false),
  );
  if (!scopes.some((scope) => !ownScopes.has(scope)))
    return drop({
      error: 'access_denied',
      description: 'the upstream authorization server granted none of the scopes',
      problem: 'it granted none of the scopes',
    });
  const bind = async (grantId: string): Promise<void> => {
    const at = Math.floor(now() / 1000);
    const times = { startedAt: at, usedAt: at, checkedAt: at };
    try {
      await sessions.add(grantId, { account: name, clientId: asked.clientId, ...times, upstream: tokens });
    } catch (error) {
      await drop(failed);
      throw error;
    }
    onEvent({ kind: 'session_started', session: grantId });
  };
  return { account: name, scopes, bind };
}

async function subjectBy({ upstream, fetch }: ForwardingParts, token: string): Promise<string> {
  const { issuer, resource, subjectOf } = upstream;
  if (subjectOf === undefined) throw new UpstreamFault('nothing says who signed in');
  try {
    const subject = await subjectOf(fetchTo({ resource, token, fetch }));
    return accountOf(issuer, subjectSchema.parse(subject));
  } catch (error) {
    throw new UpstreamFault(`subjectOf: ${shownFault(error)}`);
  }
}

/** Undefined: a scope that isn't known here. */
function neededBy({ scopes }: Upstream, scope: string): readonly string[] | undefined {
  return Object.hasOwn(scopes, scope) ? scopes[scope] : undefined;
}
