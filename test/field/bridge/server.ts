/** A server of the protocol by hand, in forms that servers made with an SDK don't have. It counts what runs. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { startLoopbackServer } from '../../support/servers/loopback-server.ts';

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly [name: string]: unknown };
}

type Handle = (request: IncomingMessage, response: ServerResponse, message: Message, raw: string) => void;

export function result({ id, method, params }: Message): object {
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: params?.['protocolVersion'],
      capabilities: { tools: {} },
      serverInfo: { name: 'trial', version: '1' },
    },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  };
  return { jsonrpc: '2.0', id, result: results[method ?? ''] ?? {} };
}

export function json(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

export function events(response: ServerResponse, ...texts: string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const text of texts) response.write(text);
}

export const data = (message: unknown): string => `data: ${JSON.stringify(message)}\n\n`;

/** What a plain server does. */
export const plain = (request: IncomingMessage, response: ServerResponse, message: Message): void => {
  if (request.method !== 'POST') return json(response, 405, {});
  if (message.id === undefined || message.method === undefined) return void response.writeHead(202).end();
  json(response, 200, result(message));
};

export async function serve(handle: Handle) {
  const log: string[] = [];
  const origin = await startLoopbackServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => void pieces.push(piece));
    request.on('end', () => {
      const raw = Buffer.concat(pieces).toString();
      const message = (raw === '' ? {} : JSON.parse(raw)) as Message;
      log.push(`${request.method} ${message.method ?? ''}`.trim());
      handle(request, response, message, raw);
    });
  });
  return { url: new URL(`${origin}/mcp`), log };
}
