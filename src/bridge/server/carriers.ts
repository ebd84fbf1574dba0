/**
 * The two transports of the protocol over HTTP, as a session uses them: streamable HTTP, and the older one of a
 * stream of events beside it.
 *
 * Invariant: of the older transport, what a session sends goes to the URL that the server named on its stream, at the
 * endpoint's own origin (the SDK checks that).
 */
import {
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { untilAborted } from '../../base/abort.ts';
import { noTransport } from '../base/errors.ts';
import { connectTime } from '../base/limits.ts';
import { type Exchange, exchanges, type Fetch, watchedFetch } from './exchange.ts';
import { type Ending, firstPause, keepListening } from './listening.ts';
import { Pauses } from './pauses.ts';

export interface Carrier {
  readonly transport: Transport;
  /** Answers come on the session's one stream, and not with what was sent. */
  readonly isOlder: boolean;
  readonly sessionId: () => string | undefined;
  start(): Promise<void>;
  /** Keeps the stream open on which the server speaks by itself, where that is a stream of its own. */
  listen(signal: AbortSignal): Promise<void>;
  /** Ends the session at the server, where that can be told. */
  terminate(): Promise<void>;
}

export interface CarrierHooks {
  /** The server has ended the session, as a stream learns first. */
  readonly onLost: () => void;
  /** Resolves when the client takes more. */
  readonly ready: () => Promise<void>;
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly now: () => number;
}

export type MakeCarrier = (endpoint: URL, fetch: Fetch, hooks: CarrierHooks) => Carrier;

/** Milliseconds, and how often: the stream of a request that breaks is taken up again for some twenty seconds. */
const reconnectionOptions = {
  initialReconnectionDelay: firstPause,
  maxReconnectionDelay: 5000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 8,
};

export const streamable: MakeCarrier = (endpoint, fetch, { onLost, ready, wait, now }) => {
  const pauses = new Pauses();
  const watched = watchedFetch(fetch, {
    ready,
    seen: ({ status }, init) => {
      if (status === 404 && init?.method === 'GET' && transport.sessionId !== undefined) onLost();
    },
  });
  const transport: StreamableHTTPClientTransport = new StreamableHTTPClientTransport(endpoint, {
    fetch: withoutOwnListening(watched),
    // `createFetch` follows those within the endpoint. The SDK itself would send the message elsewhere at this origin.
    redirectPolicy: 'follow',
    reconnectionOptions,
    reconnectionScheduler: (reconnect, wanted) => {
      const { listening } = exchanges.getStore() ?? {};
      if (listening) return listening(wanted);
      const timer = setTimeout(reconnect, pauses.next(wanted, now()));
      return () => clearTimeout(timer);
    },
  });
  return {
    transport,
    isOlder: false,
    sessionId: () => transport.sessionId,
    start: async () => transport.start(),
    listen: async (signal) => keepListening({ open: opening(transport, signal), wait, now, signal }),
    terminate: async () => transport.terminateSession(),
  };
};

/** Opens the listening stream through the transport, where it left off. */
function opening(transport: StreamableHTTPClientTransport, signal: AbortSignal): () => Promise<Ending> {
  let lastEvent = '';
  return async () => {
    const over = Promise.withResolvers<number>();
    const exchange: Exchange = { listening: over.resolve };
    const onresumptiontoken = (id: string): void => void (lastEvent = id);
    try {
      await exchanges.run(exchange, async () => transport.resumeStream(lastEvent, { onresumptiontoken }));
    } catch {
      // The server may not know the event any more.
      lastEvent = '';
      return 'not open';
    }
    if (exchange.status === 405) return 'none';
    const delay = await untilAborted(over.promise, signal);
    return { retry: delay === firstPause ? undefined : delay };
  };
}

/**
 * After the handshake the transport would open the listening stream by itself, and give it up after a failure or two.
 * `keepListening` opens it instead, so the transport is told that the server has none (405).
 */
function withoutOwnListening(fetch: Fetch): Fetch {
  return async (url, init) => {
    const { about, listening } = exchanges.getStore() ?? {};
    const isOwn = init?.method === 'GET' && about === undefined && !listening;
    return isOwn ? new Response(null, { status: 405 }) : fetch(url, init);
  };
}

export const older: MakeCarrier = (endpoint, fetch, { ready }) => {
  // A server of this transport may be the only one that somebody has: it is why the SDK still has it.
  // oxlint-disable-next-line typescript/no-deprecated
  const transport = new SSEClientTransport(endpoint, {
    fetch: watchedFetch(named(fetch), { ready, seen: () => undefined }),
    // As in `streamable`.
    redirectPolicy: 'follow',
  });
  return {
    transport,
    isOlder: true,
    sessionId: () => undefined,
    listen: async () => undefined,
    start: async () => {
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => late.reject(noTransport()), connectTime);
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
