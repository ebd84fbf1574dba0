/**
 * The bridge's fetch without a proxy, on Node's own client: undici's takes 20 MB more, and twice the time of a call.
 *
 * Invariant: one answer for each request, however it redirects. Waits without end for it, and for each part of it.
 */
import http from 'node:http';
import https from 'node:https';
import { type Duplex, pipeline, Readable } from 'node:stream';
import { connect, type TLSSocket } from 'node:tls';
import { createBrotliDecompress, createUnzip, createZstdDecompress } from 'node:zlib';
import {
  type Authorities,
  connectTimeout,
  type Connector,
  type TlsOptions,
} from '../base/system/tls-trust.ts';

/**
 * Milliseconds for which a connection is kept without a request: many servers end theirs after five seconds, and a request that
 * meets the end is lost. A server that names a time gets that.
 */
const keptFor = 4000;

const bodiless: ReadonlySet<unknown> = new Set([204, 205, 304]);

export function directFetch(trusted: Authorities): typeof globalThis.fetch {
  const open = new http.Agent({ keepAlive: true, timeout: keptFor });
  const encrypted = new TrustingAgent(trusted);
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const { method = 'GET', body, signal } = init;
    signal?.throwIfAborted();
    const [client, agent] = url.protocol === 'https:' ? [https, encrypted] : [http, open];
    const headers = { 'accept-encoding': 'gzip, br', 'user-agent': 'node', ...headersOf(init) };
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
    client
      .request(url, { method, headers, agent, ...(signal && { signal }) })
      .on('response', resolve)
      .on('error', reject)
      // The bridge sends text and bytes.
      .end(body as string | Uint8Array | null | undefined);
    try {
      return responseOf(await promise);
    } catch (cause) {
      throw signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause });
    }
  };
}

const headersOf = ({ headers }: RequestInit): Record<string, string> =>
  Object.fromEntries(new Headers(headers));

/** Throws for a status or a header that the Fetch standard doesn't know. */
function responseOf(message: http.IncomingMessage): Response {
  const { statusCode: status = 0, rawHeaders } = message;
  try {
    const headers = new Headers();
    for (let at = 0; at < rawHeaders.length; at += 2)
      headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
    const isEmpty = bodiless.has(status) || headers.get('content-length') === '0';
    if (isEmpty) message.resume();
    const body = isEmpty
      ? null
      : (Readable.toWeb(decoded(message)) as ReadableStream<Uint8Array<ArrayBuffer>>);
    return new Response(body, { status, headers });
  } catch (error) {
    message.destroy();
    throw error;
  }
}

/** RFC 9110 §8.4.1. Each piece is passed on as it comes: an event may be the last for long. */
function decoded(message: http.IncomingMessage): Readable {
  const coding = message.headers['content-encoding']?.trim().toLowerCase();
  const decoder =
    coding === 'br'
      ? createBrotliDecompress()
      : coding === 'gzip' || coding === 'x-gzip' || coding === 'deflate'
        ? createUnzip()
        : coding === 'zstd'
          ? createZstdDecompress()
          : undefined;
  // Whoever reads sees a break at the decoder.
  return decoder ? pipeline(message, decoder, () => undefined) : message;
}

class TrustingAgent extends https.Agent {
  readonly #connect: Connector<https.RequestOptions, TLSSocket>;

  constructor(trusted: Authorities) {
    super({ keepAlive: true, timeout: keptFor });
    this.#connect = trusted.connector(connectBy);
  }

  override createConnection(
    options: https.RequestOptions,
    done: (error: Error | null, socket: Duplex) => void = () => undefined,
  ): undefined {
    // With an error there is no socket, as Node itself calls it.
    this.#connect(options, done as (error: Error | null, socket: Duplex | null) => void);
  }
}

const connectBy =
  (trust: TlsOptions): Connector<https.RequestOptions, TLSSocket> =>
  (options, done) => {
    const socket = connect({ ...options, ...trust } as object);
    const timer = setTimeout(() => socket.destroy(new ConnectTimeout()), connectTimeout);
    const settle = (error: Error | null): void => {
      clearTimeout(timer);
      socket.off('error', settle);
      done(error, error ? null : socket);
    };
    socket.once('error', settle).once('secureConnect', () => settle(null));
  };

class ConnectTimeout extends Error {
  /** undici's, as connection-faults.ts knows it. */
  readonly code = 'UND_ERR_CONNECT_TIMEOUT';
}
