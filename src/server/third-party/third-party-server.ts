/**
 * The third-party flow: an authorization server for our clients, whose people sign in at an upstream authorization
 * server.
 *
 * Invariant: no upstream token leaves this process but to the upstream. A client gets tokens of ours, which are good
 * only as long as the upstream's are.
 */
import type { RequestListener } from 'node:http';
import { KeyturnError } from '../../base/errors.ts';
import { requireRuntime } from '../../base/runtime.ts';
import { authorizationServer } from '../authorization/authorization-server.ts';
import type { AuthorizationServerOptions } from '../authorization/options.ts';
import { accountOf, goOn } from '../authorization/accounts/upstream-accounts.ts';
import { trustingAgent } from '../authorization/base/operator-fetch.ts';
import type { Access } from '../resource/access.ts';
import type { SessionState } from '../resource/options.ts';
import { quietly } from '../resource/base/option.ts';
import type { VerifiedToken } from '../resource/tokens/token.ts';
import { upstreamFetch } from '../resource/upstream.ts';
import { memoryStorage } from '../storage/memory.ts';
import type { Storage } from '../storage/storage.ts';
import { eachInTurn, Ending } from './ending.ts';
import { forwardingOf, type ForwardingParts } from './forwarding.ts';
import {
  readThirdPartyOptions,
  type Receipt,
  type SessionEvent,
  type SessionTimes,
  type ThirdPartyOptions,
  type ThirdPartySettings,
} from './options.ts';
import { Sessions } from './session.ts';
import { sessionIdOf, SessionStatus } from './status.ts';
import { UpstreamServer } from './upstream-server.ts';

export interface ThirdPartyServer {
  readonly issuer: string;
  /** Serves the issuer's paths and its well-known addresses; answers 404 to others. */
  readonly handler: RequestListener;
  /** True for a path of this server, for a program that serves more. */
  serves(path: string): boolean;
  /** For the option `checkSession` of `protectedServer`: without it, issued tokens outlive their sessions. */
  readonly checkSession: (token: VerifiedToken) => Promise<SessionState>;
  /**
   * A fetch to the upstream resource for a request that passed, with the session's own upstream token, which is renewed
   * where it must be. Throws `login_required` where the session ended, `authorization_server_unreachable` where the
   * upstream can't be asked. `fetch`: the platform's own, with `upstream.authorities`, unless given.
   */
  upstream(access: Access, fetch?: typeof globalThis.fetch): Promise<typeof globalThis.fetch>;
  /** Ends a session (the claim `sid`), here at once and upstream; undefined: there is none. */
  endSession(session: string): Promise<Receipt | undefined>;
  /** What the upstream said of an ended session so far. */
  receipt(session: string): Promise<Receipt | undefined>;
  /** Ends sessions whose time is over, and asks again for pending revocations. It runs by itself each minute. */
  tidy(): Promise<void>;
  close(): Promise<void>;
}

/** Milliseconds. */
const sweepInterval = 60_000;

/** Throws invalid_request, with the option's name, where an option can't be used. */
export async function thirdPartyServer(options: ThirdPartyOptions): Promise<ThirdPartyServer> {
  requireRuntime('@keyturn/server');
  const settings = readThirdPartyOptions(options);
  const storage = options.storage ?? memoryStorage();
  const parts = makeParts(options, settings, storage);
  const { status, ending } = parts;
  const authorization = await authorizationServer(downstream(options, settings.times, parts));
  const timer = setInterval(() => {
    // The next run tries again; what ended is refused at its next use anyway.
    tidy(parts).catch(() => undefined);
  }, sweepInterval);
  timer.unref();
  return {
    issuer: authorization.issuer,
    handler: authorization.handler,
    serves: (path) => authorization.serves(path),
    checkSession: async (token) => status.check(token),
    upstream: async (access, fetch = parts.fetch) => {
      const token = await upstreamToken(status, access);
      return upstreamFetch(access, { resource: settings.upstream.resource, token, fetch });
    },
    endSession: async (session) => ending.end(session, 'revoked'),
    receipt: async (session) => ending.receipt(session),
    tidy: async () => tidy(parts),
    async close() {
      clearInterval(timer);
      await authorization.close();
      if (options.storage === undefined) await storage.close();
    },
  };
}

function makeParts(
  { issuer, now = Date.now, ...options }: ThirdPartyOptions,
  { upstream, times }: ThirdPartySettings,
  storage: Storage,
): ForwardingParts {
  const onEvent = quietly<SessionEvent>(options.onEvent);
  const sessions = new Sessions(storage);
  const server = new UpstreamServer(upstream, now);
  const shared = { sessions, storage, server, now, onEvent };
  const ending = new Ending(shared);
  const status = new SessionStatus({ ...shared, issuer, ending, times });
  const dispatcher = trustingAgent(upstream.authorities);
  const fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, { ...init, dispatcher });
  return { ...shared, upstream, fetch, status, ending };
}

/** The server that our clients see. */
function downstream(
  options: ThirdPartyOptions,
  { accessToken, absolute }: SessionTimes,
  parts: ForwardingParts,
): AuthorizationServerOptions {
  const { resource, upstream, session: _times, ...rest } = options;
  const { issuer } = options;
  return {
    ...rest,
    storage: parts.storage,
    resources: [resource],
    // A refresh token ends with its session, whatever its own time.
    lifetimes: { accessToken, refreshToken: absolute },
    accounts: {
      signIn: () => {
        throw new TypeError('people sign in upstream');
      },
      isKnown: (account) => account.startsWith(accountOf(upstream.issuer, '')),
      callback: async ({ url = '' }, response) => goOn(new URL(url, issuer), response),
      forwarding: forwardingOf(parts),
    },
  };
}

/** Goes through all of it, whatever one session's trouble is, and throws the first trouble at the end. */
async function tidy({ sessions, status, ending }: ForwardingParts): Promise<void> {
  const ends = (await sessions.ids()).map((id) => async () => {
    const session = await sessions.anyOf(id);
    if (session === undefined) return;
    // A process that died in between left the rest of an end to this one.
    const why = session.isEnded ? 'revoked' : await status.whyOver(id, session);
    if (why !== undefined) await ending.end(id, why);
  });
  await eachInTurn([...ends, async () => ending.retry()]);
}

async function upstreamToken(status: SessionStatus, access: Access): Promise<string> {
  const id = sessionIdOf(access);
  const state = await status.check(access);
  const standing = state === 'valid' && id !== undefined ? await status.standing(id) : undefined;
  if (standing?.state === 'valid') return standing.session.upstream.accessToken;
  if ((standing?.state ?? state) === 'unavailable') {
    const said = 'The upstream authorization server can’t be asked.';
    throw new KeyturnError('authorization_server_unreachable', said, {
      hint: 'The event upstream_unavailable says why.',
    });
  }
  throw new KeyturnError('login_required', 'The upstream session of this request has ended.', {
    hint: 'Answer 401, so that the client signs in again.',
  });
}
