/**
 * The two transports of the protocol over HTTP, as a session uses them: streamable HTTP, and the older one of a stream of
 * events beside it.
 *
 * Invariant: of the older transport, what a session sends goes to the URL that the server named on its stream, at the
 * endpoint's own origin (the SDK checks that).
 */
import {
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { NoAnswer, olderTransport } from '../base/errors.ts';
import { connectTime } from '../base/limits.ts';
import { exchanges, type Fetch, watchedFetch } from './exchange.ts';
import { Pauses } from './pauses.ts';

export interface Carrier {
  readonly transport: Transport;
  /** Answers come on the session's one stream, and not with what was sent. */
  readonly isOlder: boolean;
  readonly sessionId: () => string | undefined;
  start(): Promise<void>;
  /** Ends the session at the server, where that can be told. */
  terminate(): Promise<void>;
}

export interface CarrierHooks {
  /** The server has ended the session, as a stream learns first. */
  readonly onLost: () => void;
  /** Resolves when the client takes more. */
  readonly ready: () => Promise<void>;
}

export type MakeCarrier = (endpoint: URL, fetch: Fetch, hooks: CarrierHooks) => Carrier;

/** Milliseconds, and how often: a stream that breaks is taken up again for some twenty seconds. */
const reconnectionOptions = {
  initialReconnectionDelay: 500,
  maxReconnectionDelay: 5000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 8,
};

export const streamable: MakeCarrier = (endpoint, fetch, { onLost, ready }) => {
  const pauses = new Pauses();
  const transport: StreamableHTTPClientTransport = new StreamableHTTPClientTransport(endpoint, {
    fetch: watchedFetch(fetch, {
      ready,
      seen: ({ status }, init) => {
        if (status === 404 && init?.method === 'GET' && transport.sessionId !== undefined) onLost();
      },
    }),
    reconnectionOptions,
    reconnectionScheduler: (reconnect, wanted) => {
      const timer = setTimeout(reconnect, pauses.next(wanted, performance.now()));
      return () => clearTimeout(timer);
    },
  });
  return {
    transport,
    isOlder: false,
    sessionId: () => transport.sessionId,
    start: async () => transport.start(),
    terminate: async () => transport.terminateSession(),
  };
};

export const older: MakeCarrier = (endpoint, fetch, { ready }) => {
  // A server of this transport may be the only one that somebody has: it is why the SDK still has it.
  // oxlint-disable-next-line typescript/no-deprecated
  const transport = new SSEClientTransport(endpoint, {
    fetch: watchedFetch(named(fetch), { ready, seen: () => undefined }),
    // `createFetch` follows those within the endpoint. The SDK itself would lead the token elsewhere at this origin.
    redirectPolicy: 'follow',
  });
  return {
    transport,
    isOlder: true,
    sessionId: () => undefined,
    start: async () => {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(new NoAnswer(...olderTransport)), connectTime);
      try {
        await Promise.race([transport.start(), late.promise]);
      } catch (error) {
        await transport.close();
        throw error;
      } finally {
        clearTimeout(timer);
      }
    },
    terminate: async () => undefined,
  };
};

/** Notes the URL to which a message goes: the one that the server named. */
function named(fetch: Fetch): Fetch {
  return async (url, init) => {
    const exchange = exchanges.getStore();
    if (exchange && init?.method === 'POST') exchange.named = new URL(url).href;
    return fetch(url, init);
  };
}
