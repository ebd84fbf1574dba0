// LangChain's adapters: a client that turns tools into functions of its own kind.
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { entry, serve } from './operations.mjs';

const client = new MultiServerMCPClient({
  mcpServers: { workshop: { transport: 'stdio', stderr: 'inherit', ...entry } },
});
const tools = new Map((await client.getTools()).map((tool) => [tool.name, tool]));

serve({
  tools: async () => [...tools.keys()],
  call: async (name, args, signal) => tools.get(name).invoke(args, signal ? { signal } : {}),
  resources: async () => (await client.listResources()).workshop.map(({ uri }) => uri),
  read: async (uri) => (await client.readResource('workshop', uri))[0].text,
  close: async () => client.close(),
});
