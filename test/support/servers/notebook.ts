/** The MCP server's tools, called by the MCP SDK's own client. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { TestWorld } from '../world.ts';

export type Tool = 'list-notes' | 'add-note';

function argumentsFor(tool: Tool): Record<string, string> {
  return tool === 'add-note' ? { note: 'milk' } : {};
}

/** Calls one tool; answers its text. Throws what the SDK throws, e.g. for a 401. */
export async function useNotebook(
  world: TestWorld,
  access: { readonly token?: string; readonly fetch?: typeof globalThis.fetch },
  tool: Tool = 'list-notes',
): Promise<string> {
  const headers = access.token === undefined ? {} : { authorization: `Bearer ${access.token}` };
  const transport = new StreamableHTTPClientTransport(new URL(world.protectedServer.url), {
    fetch: access.fetch ?? world.fetch,
    requestInit: { headers },
  });
  const client = new Client({ name: 'a-local-program', version: '1.0.0' });
  try {
    await client.connect(transport);
    const result = await client.callTool({ name: tool, arguments: argumentsFor(tool) });
    return JSON.stringify(result.content);
  } finally {
    await client.close();
  }
}

/** The server's answer to one request with a token, past every client library. */
export interface Verdict {
  readonly status: number;
  /** Empty where the answer has none. */
  readonly challenge: string;
  readonly body: string;
}

/** A request that calls one tool. */
export function toolCall(tool: Tool, token?: string) {
  return {
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
      params: { name: tool, arguments: argumentsFor(tool) },
    }),
  };
}

/** Calls one tool with a token, as any program could, and returns what the server answers. */
export async function verdictOn(
  world: TestWorld,
  token: string | undefined,
  tool: Tool = 'list-notes',
): Promise<Verdict> {
  const response = await world.fetch(world.protectedServer.url, toolCall(tool, token));
  return {
    status: response.status,
    challenge: response.headers.get('www-authenticate') ?? '',
    body: await response.text(),
  };
}
