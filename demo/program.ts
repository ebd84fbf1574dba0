/** A local program as anyone writes it: the client library for tokens, the protocol's SDK for the protected server. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { connect, type Connection, createFetch, pair } from '@keyturn/client';
import type { Served } from './served.ts';
import type { Stage } from './stage.ts';

export interface Program {
  readonly name: string;
  readonly connection: Connection;
  /** Calls a tool of the protected server; the fetch under it gets, renews and widens its token by itself. */
  callTool(name: string, args?: Record<string, unknown>, place?: Place): Promise<void>;
  close(): Promise<void>;
}

/** Another protected server than the stage's first one. */
export interface Place {
  readonly servers: Served;
  /** Sees each request as it leaves the program. */
  readonly onRequest: (request: Request) => void;
}

/** Pairs a program: it shows a code, the user compares it with the broker's. */
export async function pairProgram(
  stage: Stage,
  name: string,
  onCode: (code: string) => void,
): Promise<Program> {
  await pair({ name, env: stage.env, onCode });
  const connection = await connect({ name, env: stage.env });
  const atStage: Place = { servers: stage.servers, onRequest: () => undefined };
  return {
    name,
    connection,
    async callTool(tool, args = {}, { servers, onRequest } = atStage) {
      const { url } = servers;
      const fetch = createFetch(connection, {
        resource: url,
        fetch: async (input, init) => {
          onRequest(new Request(input, init));
          return servers.fetch(input, init);
        },
        interaction: 'allow',
      });
      const client = new Client({ name, version: '1.0.0' });
      await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch }));
      try {
        const { isError } = await client.callTool({ name: tool, arguments: args });
        if (isError) throw new Error(`${tool} failed`);
      } finally {
        await client.close();
      }
    },
    async close() {
      connection.close();
    },
  };
}

/**
 * A client that knows nothing of Keyturn, the protocol's SDK as it comes: its configuration is a command and a name, and no
 * token reaches its process. Lists the tools of the protected server and calls one, through the bridge. Answers the tools' names.
 */
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
