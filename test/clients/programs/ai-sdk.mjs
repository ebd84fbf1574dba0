// The AI SDK's client, which has a protocol of its own making.
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { accepted, entry, serve, textOf } from './operations.mjs';

const client = await createMCPClient({
  transport: new Experimental_StdioMCPTransport(entry),
  capabilities: { elicitation: {} },
});
client.onElicitationRequest(ElicitationRequestSchema, async () => accepted);
const tools = await client.tools();

serve({
  tools: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: async (name, args, signal) => {
    const options = { toolCallId: args.key, messages: [], ...(signal ? { abortSignal: signal } : {}) };
    return textOf(await tools[name].execute(args, options));
  },
  resources: async () => (await client.listResources()).resources.map(({ uri }) => uri),
  read: async (uri) => (await client.readResource({ uri })).contents[0].text,
  prompts: async () => (await client.listPrompts()).prompts.map(({ name }) => name),
  prompt: async (name, args) => (await client.getPrompt({ name, arguments: args })).messages[0].content.text,
  person: async (key) =>
    textOf(await tools['ask-person'].execute({ key }, { toolCallId: key, messages: [] })),
  close: async () => client.close(),
});
