// A client on Windows that starts the bridge as its server: calls one tool, and prints what it got and what the bridge
// wrote to standard error. Arguments: the tool, then the words that start the bridge.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [tool, command, ...args] = process.argv.slice(2);
const transport = new StdioClientTransport({ command, args, env: process.env, stderr: 'pipe' });
let stderr = '';
transport.stderr.on('data', (text) => (stderr += text));
const client = new Client({ name: 'an-editor', version: '1.0.0' });
const told = {};
try {
  await client.connect(transport);
  told.tools = (await client.listTools()).tools.map(({ name }) => name);
  told.answer = await client.callTool({ name: tool, arguments: tool === 'add-note' ? { note: 'milk' } : {} });
} catch (error) {
  told.error = String(error);
}
await client.close();
process.stdout.write(JSON.stringify({ ...told, stderr }));
