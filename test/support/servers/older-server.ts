/** A server of the older transport alone: a stream of events at /sse, messages at /messages. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { once } from 'node:events';
import http from 'node:http';
import { onTestFinished } from 'vitest';

export interface OlderServer {
  readonly url: URL;
  /** Requests as `GET /sse Bearer secret-1`. */
  readonly requests: readonly string[];
  /** Ends every stream, as a restart does. */
  drop(): void;
}

/** Its one tool `hold` says nothing until the stream is gone; `hello` says hello. */
export async function olderServer(): Promise<OlderServer> {
  const open = new Map<string, SSEServerTransport>();
  const requests: string[] = [];
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    requests.push(`${request.method} ${pathname} ${request.headers.authorization ?? ''}`);
    const known = open.get(searchParams.get('sessionId') ?? '');
    if (request.method === 'POST' && pathname === '/messages' && known) {
      void known.handlePostMessage(request, response);
    } else if (request.method === 'GET' && pathname === '/sse') {
      // oxlint-disable-next-line typescript/no-deprecated
      const transport = new SSEServerTransport('/messages', response);
      open.set(transport.sessionId, transport);
      void made().connect(transport);
    } else response.writeHead(request.method === 'POST' ? 405 : 404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = (): void => {
    open.clear();
    server.closeAllConnections();
  };
  onTestFinished(() => {
    drop();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { url: new URL(`http://127.0.0.1:${port}/sse`), requests, drop };
}

function made(): McpServer {
  const server = new McpServer({ name: 'older', version: '1.0.0' });
  server.registerTool('hello', {}, () => ({ content: [{ type: 'text', text: 'hello' }] }));
  server.registerTool('hold', {}, async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { content: [] };
  });
  return server;
}
