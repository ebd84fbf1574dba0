/**
 * MCP servers by the SDK, with habits that a test chooses: forgotten sessions, cut streams, refused answers. Each
 * message is noted first, so that a test can count.
 */
import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import {
  createMcpHandler,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { randomUUID } from 'node:crypto';
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

/** Bytes: large messages are the bridge's to carry, not the server's to refuse. */
const maxRequestBodySize = 2 ** 25;

type Handler = (request: Request) => Promise<Response>;

/** A server of the stateful revisions: a session for each client. */
export async function statefulServer(make: () => McpServer) {
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
export async function statelessServer(make: () => McpServer) {
  const handler = createMcpHandler(make, { legacy: 'reject', maxRequestBodySize });
  return serve(
    async (request) => handler.fetch(request),
    () => undefined,
  );
}

async function serve(handler: Handler, forget: () => void) {
  const received: Received[] = [];
  const state = {
    received: received as readonly Received[],
    /** How often a message of this method came. */
    count: (method: string): number => received.filter((each) => each.method === method).length,
    /** Asked of each message; the first thing that it says happens. */
    mishap: (_received: Received): Mishap | undefined => undefined,
    /** Forgets every session, as a restart does. */
    forget,
    /** Bytes of answers that were handed to the sockets. */
    sent: 0,
  };
  const listener = getRequestListener(
    async (request, { outgoing }) => {
      const note = await noteOf(request.clone());
      received.push(note);
      const mishap = state.mishap(note);
      if (mishap === 'cut') {
        outgoing.destroy();
        return RESPONSE_ALREADY_SENT;
      }
      if (mishap === 'end stream')
        return new Response(': nothing follows\n\n', { headers: { 'content-type': 'text/event-stream' } });
      if (typeof mishap === 'object') return new Response(mishap.body ?? null, mishap);
      const { status, headers, body } = await handler(request);
      const counting = new TransformStream<Uint8Array, Uint8Array>({
        transform(piece, onwards) {
          state.sent += piece.length;
          onwards.enqueue(piece);
        },
      });
      return new Response(body?.pipeThrough(counting) ?? null, { status, headers });
    },
    { overrideGlobalObjects: false },
  );
  const origin = await startLoopbackServer((request, response) => void listener(request, response));
  onTestFinished(forget);
  return Object.assign(state, { url: new URL(`${origin}/mcp`) });
}

export type ProtocolServer = Awaited<ReturnType<typeof serve>>;

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
