/**
 * A client that knows nothing of Keyturn, the protocol's SDK as it comes: it starts `keyturn bridge` as its server.
 *
 * Invariant: the client's configuration is a command and a name; no token reaches its process.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { Stage } from './stage.ts';

/** Lists the tools of the protected server and calls one, through the bridge. Answers the tools' names. */
export async function useBridge(stage: Stage, name: string): Promise<readonly string[]> {
  const client = new Client({ name, version: '1.0.0' });
  const env = Object.entries(stage.env).flatMap(([variable, value]) =>
    value === undefined ? [] : [[variable, value] as const],
  );
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [stage.bin, 'bridge', stage.servers.url, '--as', name],
      env: Object.fromEntries(env),
    }),
  );
  try {
    const { tools } = await client.listTools();
    await client.callTool({ name: 'list-notes' });
    return tools.map((tool) => tool.name);
  } finally {
    await client.close();
  }
}
