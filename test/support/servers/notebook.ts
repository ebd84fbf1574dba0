/** The MCP server's tools, called past every client library. */
import type { TestWorld } from '../world.ts';

/** Calls one tool with a token, or by a fetch that brings one, as any program could; returns what the server answers. */
export async function verdictOn(
  world: TestWorld,
  token: string | undefined,
  tool: 'list-notes' | 'add-note' = 'list-notes',
  fetch: typeof globalThis.fetch = world.fetch,
) {
  const response = await fetch(world.protectedServer.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: tool, arguments: tool === 'add-note' ? { note: 'milk' } : {} },
    }),
  });
  return {
    status: response.status,
    /** Empty where the answer has none. */
    challenge: response.headers.get('www-authenticate') ?? '',
    body: await response.text(),
  };
}
