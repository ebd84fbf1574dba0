/** One request to the MCP server with a token, past every client library. */
import type { TestWorld } from '../world.ts';

/** A request that calls a tool. */
export function toolCall(name: string, token?: string) {
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
      params: { name, arguments: {} },
    }),
  };
}

/** Calls a tool with a token, as any program could, and returns the status of the answer. */
export async function verdictOn(
  world: TestWorld,
  token: string | undefined,
): Promise<{ readonly status: number }> {
  const response = await world.fetch(world.protectedServer.url, toolCall('list-notes', token));
  await response.text();
  return { status: response.status };
}
