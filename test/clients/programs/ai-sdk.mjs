// The AI SDK's client, which has a protocol of its own making.
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp';
import { Experimental_StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { accepted, entry, reads, serve, textOf } from './operations.mjs';

const client = await createMCPClient({
  transport: new Experimental_StdioMCPTransport(entry),
  capabilities: { elicitation: {} },
});
client.onElicitationRequest(ElicitationRequestSchema, async () => accepted);
const tools = await client.tools();

serve({
  ...reads(client),
  call: async (name, args, signal) => {
    const options = { toolCallId: args.key, messages: [], ...(signal ? { abortSignal: signal } : {}) };
    return textOf(await tools[name].execute(args, options));
  },
  person: async (key) =>
    textOf(await tools['ask-person'].execute({ key }, { toolCallId: key, messages: [] })),
});
