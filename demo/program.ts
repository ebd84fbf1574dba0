/**
 * A local program as anyone would write it: the client library for tokens, the protocol's own SDK
 * for the protected server.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
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
        await client.callTool({ name: tool, arguments: args });
      } finally {
        await client.close();
      }
    },
    async close() {
      connection.close();
    },
  };
}
