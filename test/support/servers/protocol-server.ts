/**
 * Servers of the protocol on this machine, made with its SDK, whose habits a test chooses: sessions that are forgotten,
 * streams that are cut, answers that are refused.
 *
 * Invariant: the server notes every message before anything else happens to it, so that a test can count.
 */
import {
  createMcpHandler,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { startLoopbackServer } from './loopback-server.ts';

/** A message as the server got it. */
export interface Received {
  readonly http: string;
  readonly method: string | undefined;
  readonly id: unknown;
  readonly params: unknown;
  readonly headers: Headers;
}

/** What happens to a message in place of the server's own answer. */
export type Mishap =
  /** The connection ends before any answer. */
  | 'cut'
  /** The stream of the answer begins and ends without one. */
  | 'end stream'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

export interface ProtocolServer {
  readonly url: URL;
  readonly received: readonly Received[];
  /** How often a message of this method came. */
  count(method: string): number;
  /** Asked of each message; the first thing that it says happens. */
  mishap: (received: Received) => Mishap | undefined;
  /** Forgets every session, as a restart does. */
  forget(): void;
  /** Bytes of answers that were handed to the sockets. */
  readonly sent: number;
}

/** Bytes: large messages are the bridge's to carry, not the server's to refuse. */
const maxRequestBodySize = 2 ** 25;

type Handler = (request: Request) => Promise<Response>;

/** A server of the stateful revisions: a session for each client. */
export async function statefulServer(make: () => McpServer): Promise<ProtocolServer> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const handler: Handler = async (request) => {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : sessions.get(id);
    if (known) return known.handleRequest(request);
    if (id !== null) return Response.json({ error: 'no such session' }, { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      maxRequestBodySize,
      onsessioninitialized: (made) => void sessions.set(made, transport),
    });
    await make().connect(transport);
    return transport.handleRequest(request);
  };
  const forget = (): void => {
    const lost = [...sessions.values()];
    sessions.clear();
    for (const transport of lost) void transport.close();
  };
  return serve(handler, forget);
}

/** A server of the stateless revision alone. */
export async function statelessServer(make: () => McpServer): Promise<ProtocolServer> {
  const handler = createMcpHandler(make, { legacy: 'reject', maxRequestBodySize });
  return serve(
    async (request) => handler.fetch(request),
    () => undefined,
  );
}

async function serve(handler: Handler, forget: () => void): Promise<ProtocolServer> {
  const received: Received[] = [];
  const state: ProtocolServer = {
    url: new URL('http://127.0.0.1'),
    received,
    count: (method) => received.filter((each) => each.method === method).length,
    mishap: () => undefined,
    forget,
    sent: 0,
  };
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const request = await requestOf(incoming, gone.signal);
    const note = await noteOf(request.clone());
    received.push(note);
    const mishap = state.mishap(note);
    if (mishap === 'cut') return void response.destroy();
    if (mishap === 'end stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return void response.end(': nothing follows\n\n');
    }
    if (mishap) return void response.writeHead(mishap.status, mishap.headers).end(mishap.body);
    await pass(await handler(request), response, (length) =>
      Object.assign(state, { sent: state.sent + length }),
    );
  };
  const origin = await startLoopbackServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  onTestFinished(forget);
  return Object.assign(state, { url: new URL(`${origin}/mcp`) });
}

async function requestOf(incoming: IncomingMessage, signal: AbortSignal): Promise<Request> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers.set(name, String(value));
  }
  const { method = 'GET', url = '/' } = incoming;
  const body = pieces.length > 0 ? Buffer.concat(pieces) : null;
  return new Request(new URL(url, `http://${incoming.headers.host}`), {
    method,
    headers,
    body,
    signal,
  });
}

async function noteOf(request: Request): Promise<Received> {
  const text = await request.text();
  const message = (text === '' ? {} : JSON.parse(text)) as {
    method?: string;
    id?: unknown;
    params?: unknown;
  };
  const { method, id, params } = message;
  return { http: request.method, method, id, params, headers: request.headers };
}

async function pass(
  answer: Response,
  response: ServerResponse,
  sent: (length: number) => void,
): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  response.flushHeaders();
  const reader = answer.body?.getReader();
  response.once('close', () => void reader?.cancel().catch(() => undefined));
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    sent(piece.value.length);
    if (!response.write(piece.value) && !response.closed)
      await Promise.race([once(response, 'drain'), once(response, 'close')]);
  }
  response.end();
}
