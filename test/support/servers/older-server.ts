/** A server of the older transport alone: a stream of events at /sse, messages at /messages. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import http from 'node:http';
import { portOf } from './loopback-server.ts';

/** Its one tool `hold` says nothing until the stream is gone; `hello` says hello. */
export async function olderServer() {
  const open = new Map<string, SSEServerTransport>();
  const requests: string[] = [];
  const sessions: string[] = [];
  const ran: string[] = [];
  let isSilent = false;
  let toRefuse = 0;
  const server = http.createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1');
    requests.push(`${request.method} ${pathname} ${request.headers.authorization ?? ''}`);
    const known = open.get(searchParams.get('sessionId') ?? '');
    if (request.method === 'POST' && pathname === '/messages')
      sessions.push(searchParams.get('sessionId') ?? '');
    if (request.method === 'POST' && pathname === '/messages' && isSilent) response.writeHead(202).end();
    else if (request.method === 'POST' && pathname === '/messages' && known) {
      void known.handlePostMessage(request, response);
    } else if (request.method === 'GET' && pathname === '/sse' && toRefuse > 0) {
      toRefuse -= 1;
      response.writeHead(503).end();
    } else if (request.method === 'GET' && pathname === '/sse') {
      // oxlint-disable-next-line typescript/no-deprecated
      const transport = new SSEServerTransport('/messages', response);
      open.set(transport.sessionId, transport);
      void made(ran).connect(transport);
    } else response.writeHead(request.method === 'POST' && pathname === '/sse' ? 405 : 404).end();
  });
  const port = await portOf(server);
  const drop = (refused = 0): void => {
    toRefuse = refused;
    isSilent = false;
    open.clear();
    server.closeAllConnections();
  };
  return {
    url: new URL(`http://127.0.0.1:${port}/sse`),
    /** Requests as `GET /sse Bearer secret-1`. */
    requests,
    /** The session of each message, in their order. */
    sessions,
    /** Names of the tools that ran. */
    ran,
    /** Takes messages without an answer from now on, until it drops them. */
    silence: () => void (isSilent = true),
    /** Knows no session any more, and leaves the streams open. */
    forget: () => open.clear(),
    /** Ends every stream, as a restart does, and refuses so many new ones. */
    drop,
  };
}

function made(ran: string[]): McpServer {
  const server = new McpServer({ name: 'older', version: '1.0.0' });
  server.registerTool('hello', {}, () => {
    ran.push('hello');
    return { content: [{ type: 'text', text: 'hello' }] };
  });
  server.registerTool('hold', {}, async ({ signal }) => {
    ran.push('hold');
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { content: [] };
  });
  return server;
}
