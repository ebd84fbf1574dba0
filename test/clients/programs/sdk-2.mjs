// The protocol's SDK, second major version.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { accepted, completion, entry, serve, textOf } from './operations.mjs';

const capabilities = { elicitation: {}, sampling: {} };
const client = new Client({ name: 'sdk-2', version: '1.0.0' }, { capabilities });
client.setRequestHandler('elicitation/create', async () => accepted);
client.setRequestHandler('sampling/createMessage', async () => completion);
await client.connect(new StdioClientTransport(entry));

serve({
  tools: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: async (name, args, signal) =>
    textOf(await client.callTool({ name, arguments: args }, signal ? { signal } : {})),
  resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
  read: async (uri) => (await client.readResource({ uri })).contents[0].text,
  prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
  prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages[0].content.text,
  person: async (key) => textOf(await client.callTool({ name: 'ask-person', arguments: { key } })),
  model: async (key) => textOf(await client.callTool({ name: 'ask-model', arguments: { key } })),
  close: async () => client.close(),
});
