/**
 * A real server on the loopback address whose every answer a test can bend.
 *
 * Invariant: each request is recorded first. The newest route that answers wins; without one it is 404. A route that
 * throws answers 500 and makes `close` throw, so a mistake in a test never looks like a hostile server.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http';
import { text } from 'node:stream/consumers';
import { type Certificates, throwAwayCertificates } from '../../../src/serve/certificate.ts';
import { listenOnLoopback } from '../../../src/serve/tls-listener.ts';
import { portOf } from '../servers/loopback-server.ts';
import { type Answer, send } from './answer.ts';

export * from './answer.ts';

export interface RecordedRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly url: URL;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body as a form; empty if it isn't one. */
  readonly form: URLSearchParams;
  /** The body as JSON; undefined if it isn't JSON. */
  readonly json: unknown;
}

/** An answer, or what decides on one; undefined passes the request on to the route before. */
export type Route = Answer | ((request: RecordedRequest) => Answer | undefined | Promise<Answer | undefined>);

export interface BentServerOptions {
  /** Listens for http too, at another port. */
  readonly plain?: boolean;
}

let shared: Promise<Certificates> | undefined;

/** Made once for a process, so that one file of authorities covers all its bent servers. */
export async function sharedCertificates(): Promise<Certificates> {
  shared ??= throwAwayCertificates();
  return shared;
}

interface Entry {
  readonly method: string;
  readonly path: string;
  readonly route: Route;
}

export async function openBentServer(options: BentServerOptions = {}) {
  const certificates = await sharedCertificates();
  const entries: Entry[] = [];
  const requests: RecordedRequest[] = [];
  const failures: unknown[] = [];
  let underWay = 0;
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await record(incoming);
    requests.push(request);
    response.setHeader('date', new Date(server.now()).toUTCString());
    await send(incoming, response, await decide(entries, request));
  };
  const serve: RequestListener = (incoming, response) => {
    underWay += 1;
    void answer(incoming, response)
      .catch((error: unknown) => {
        // A client that left while it sent is no mistake of the test.
        if (!incoming.socket.destroyed) failures.push(error);
        if (!response.headersSent) response.writeHead(500).end();
      })
      .finally(() => (underWay -= 1));
  };
  const secure = await listenOnLoopback(certificates, 0);
  secure.serve(serve);
  const ends: (() => void | Promise<void>)[] = [];
  const plain = options.plain ? await portOf(createServer(serve), (end) => ends.push(end)) : undefined;
  const on = (method: string, path: string, route: Route): (() => void) => {
    const entry = { method, path, route };
    entries.push(entry);
    return () => void entries.splice(entries.indexOf(entry), entries.includes(entry) ? 1 : 0);
  };
  const server = {
    /** The server's clock, which dates its answers. Milliseconds since the epoch. */
    now: Date.now,
    /** `https://127.0.0.1:PORT`. */
    origin: secure.origin,
    /** The origin that the server's own documents name: the plain one if there is one. */
    base: plain === undefined ? secure.origin : `http://127.0.0.1:${plain}`,
    /** PEM text of the authority to trust. */
    ca: certificates.ca,
    /** In the order of their arrival. */
    requests,
    /** `*` stands for any method or any path. The result takes the route away again. */
    on,
    /** As `on`, for the next `times` requests only. */
    next(method: string, path: string, route: Route, times = 1) {
      let left = times;
      on(method, path, (request) => {
        if (left <= 0) return undefined;
        left -= 1;
        return typeof route === 'function' ? route(request) : route;
      });
    },
    /** The recorded requests for a path. */
    asked: (path: string, method?: string) =>
      requests.filter((request) => request.path === path && (method ?? request.method) === request.method),
    /** True while anybody is connected, or a request is being served though its client may be gone. */
    isBusy: () => secure.connections() > 0 || underWay > 0,
    /** The recorded requests that hold this text anywhere: target, header or body, decoded or not. */
    holding: (wanted: string) => requests.filter((request) => holds(request, wanted)),
    /** Ends every connection. Throws what a route threw. */
    async close() {
      await Promise.all([secure.close(), ...ends.map((end) => end())]);
      if (failures.length > 0) throw failures[0];
    },
  };
  return server;
}

export type BentServer = Awaited<ReturnType<typeof openBentServer>>;

async function decide(entries: readonly Entry[], request: RecordedRequest): Promise<Answer> {
  // The newest first; and a copy, since a route may add routes.
  for (const { method, path, route } of entries.toReversed()) {
    if ((method !== '*' && method !== request.method) || (path !== '*' && path !== request.path)) continue;
    const answer = typeof route === 'function' ? await route(request) : route;
    if (answer !== undefined) return answer;
  }
  return { status: 404, headers: { 'content-type': 'text/plain' }, body: 'not found\n' };
}

async function record(incoming: IncomingMessage): Promise<RecordedRequest> {
  const body = await text(incoming);
  const url = new URL(
    `${'encrypted' in incoming.socket ? 'https' : 'http'}://${incoming.headers.host ?? '127.0.0.1'}${incoming.url ?? '/'}`,
  );
  const isForm = incoming.headers['content-type']?.startsWith('application/x-www-form-urlencoded') ?? false;
  return {
    method: incoming.method ?? '',
    path: url.pathname,
    url,
    query: url.searchParams,
    headers: incoming.headers,
    body,
    form: new URLSearchParams(isForm ? body : ''),
    json: parsed(body),
  };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function holds(request: RecordedRequest, wanted: string): boolean {
  const { url, query, form, headers, body } = request;
  const places = [url.href, ...query.values(), ...form.values(), body, ...Object.values(headers).flat()];
  return places.some((place) => place?.includes(wanted));
}
