/** A handler of the SDK behind `@keyturn/server` and the same one open to all, over http. Prints where, and a token, as JSON. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { protect } from '../src/server/index.ts';
import { guarded } from './guarded.ts';

const mcp = createMcpHandler(() => {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('echo', {}, () => ({ content: [{ type: 'text', text: 'echo' }] }));
  return server;
});

async function listening(): Promise<{
  readonly http: ReturnType<typeof createServer>;
  readonly url: string;
}> {
  const http = createServer();
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return { http, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp` };
}

const [bare, behind] = [await listening(), await listening()];
const { guard, token } = await guarded(behind.url);
const handlers = [
  [bare.http, async (request: Request) => mcp.fetch(request)],
  [
    behind.http,
    protect(guard, async (request, { authInfo, body }) => mcp.fetch(request, { authInfo, parsedBody: body })),
  ],
] as const;
for (const [http, handler] of handlers) {
  const listener = getRequestListener(handler);
  http.on('request', (request, response) => void listener(request, response));
}
process.stdout.write(`${JSON.stringify({ bare: bare.url, behind: behind.url, token })}\n`);
