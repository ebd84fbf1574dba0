// The protocol's SDK, second major version.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { accepted, completion, entry, reads, serve, textOf } from './operations.mjs';

const capabilities = { elicitation: {}, sampling: {} };
const client = new Client({ name: 'sdk-2', version: '1.0.0' }, { capabilities });
client.setRequestHandler('elicitation/create', async () => accepted);
client.setRequestHandler('sampling/createMessage', async () => completion);
await client.connect(new StdioClientTransport(entry));

serve({
  ...reads(client),
  call: async (name, args, signal) =>
    textOf(await client.callTool({ name, arguments: args }, signal ? { signal } : {})),
  person: async (key) => textOf(await client.callTool({ name: 'ask-person', arguments: { key } })),
  model: async (key) => textOf(await client.callTool({ name: 'ask-model', arguments: { key } })),
});
