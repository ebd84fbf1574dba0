/**
 * The bridge's fetch: the client library's, on a connection that may come late.
 *
 * Invariant: a token goes where `createFetch` lets it go, and nowhere else. A server that wants no token gets none.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { reasonOf } from '../../base/errors.ts';
import type { Connection, TokenConnection } from '../../client/connection.ts';
import { createFetch } from '../../client/fetch/fetch.ts';
import { fetchWithin } from '../../client/fetch/redirects.ts';
import { slowAnswer, userWait } from '../base/limits.ts';
import { withCookies } from './cookies.ts';
import { ServerRefusal } from './refused.ts';

/** What one request is for. */
export interface Purpose {
  /** The listening stream: nobody waits for it, so it is no reason to ask the user. */
  readonly isListening?: true;
  /** The URL that a server of the older transport named for messages. */
  readonly named?: string;
}

export type Fetch = (url: string | URL, init?: RequestInit, purpose?: Purpose) => Promise<Response>;

interface Parts {
  readonly endpoint: URL;
  /** The broker. Called again after it rejected, and where the app was unpaired. */
  readonly connection: () => Promise<Connection>;
  /** Whose tokens the requests carry. */
  readonly account: string | undefined;
  readonly fetchFor: (broker: Connection) => Promise<typeof globalThis.fetch>;
  /** Called for a request that the broker lets wait: it may be asking the user. */
  readonly waits: () => void;
}

/** A fetch that connects to the broker with its first request. */
export function authorizedFetch(parts: Parts): Fetch {
  const { endpoint, connection, account, fetchFor } = parts;
  const purposes = new AsyncLocalStorage<Purpose>();
  let made: Promise<Fetch> | undefined;
  const make = async (): Promise<Fetch> => {
    const broker = await connection();
    const fetch = await fetchFor(broker).catch((error: unknown) => {
      broker.close();
      throw error;
    });
    const ours = withLostSessions(withCookies(endpoint.origin, fetch));
    const options = {
      resource: endpoint.href,
      account,
      fetch: ours,
      get interaction() {
        return purposes.getStore()?.isListening ? ('never' as const) : ('allow' as const);
      },
      timeout: userWait,
      kinds: ['token', 'apiKey'],
      alsoAt: () => purposes.getStore()?.named,
    } as const;
    return withoutNeed(createFetch(telling(broker, parts), options), fetchWithin(endpoint, ours));
  };
  return async (url, init, purpose = {}) => {
    const making = (made ??= make());
    let isMade = false;
    try {
      const authorized = await making;
      isMade = true;
      return await purposes.run(purpose, async () => authorized(url, init));
    } catch (error) {
      if (made === making && (!isMade || reasonOf(error) === 'unpaired')) made = undefined;
      throw error;
    }
  };
}

function telling(broker: Connection, { waits }: Parts): TokenConnection {
  const told = async <T>(answer: Promise<T>): Promise<T> => {
    const slow = setTimeout(waits, slowAnswer);
    return answer.finally(() => clearTimeout(slow));
  };
  return {
    getToken: async (...asked) => told(broker.getToken(...asked)),
    getCredential: async (...asked) => told(broker.getCredential(...asked)),
    proveToken: async (...asked) => broker.proveToken(...asked),
    rejectToken: async (...asked) => broker.rejectToken(...asked),
  };
}

/**
 * Some servers refuse a session that they have forgotten with 401, without a challenge. That says nothing of the token,
 * so it becomes the 404 of the specification. If it is about the token too, the new session's `initialize` shows that.
 */
function withLostSessions(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const isInSession = new Headers(init?.headers).has('mcp-session-id');
    if (response.status !== 401 || !isInSession || response.headers.has('www-authenticate')) return response;
    const { text } = await ServerRefusal.of(response, '');
    return new Response(text, { status: /session/i.test(text) ? 404 : 401 });
  };
}

/**
 * Sends by `authorized` until the broker says that the server wants no token, then by `plain`, and by `authorized` again
 * after a 401. Both follow the same redirects.
 */
function withoutNeed(authorized: Fetch, plain: Fetch): Fetch {
  let isOpen = false;
  return async (url, init) => {
    if (isOpen) {
      const response = await plain(url, init);
      if (response.status !== 401) return response;
      await response.body?.cancel();
      isOpen = false;
    }
    try {
      return await authorized(url, init);
    } catch (error) {
      if (reasonOf(error) !== 'authorization_not_required') throw error;
      isOpen = true;
      return plain(url, init);
    }
  };
}
