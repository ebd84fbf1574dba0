// The protocol's SDK, first major version.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { accepted, completion, entry, reads, serve, textOf } from './operations.mjs';

const capabilities = { elicitation: {}, sampling: {} };
const client = new Client({ name: 'sdk-1', version: '1.0.0' }, { capabilities });
client.setRequestHandler(ElicitRequestSchema, async () => accepted);
client.setRequestHandler(CreateMessageRequestSchema, async () => completion);
await client.connect(new StdioClientTransport(entry));

serve({
  ...reads(client),
  call: async (name, args, signal) =>
    textOf(await client.callTool({ name, arguments: args }, undefined, signal ? { signal } : {})),
  person: async (key) => textOf(await client.callTool({ name: 'ask-person', arguments: { key } })),
  model: async (key) => textOf(await client.callTool({ name: 'ask-model', arguments: { key } })),
});
