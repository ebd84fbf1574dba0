/** What the servers of several tests offer. */
import type { McpServer } from '@modelcontextprotocol/server';

/** Adds the tools `steps`, which sends progress and a log line, and `wait`, which a cancellation ends, and a resource. */
export function addCommonTools(server: McpServer): void {
  server.registerTool('steps', {}, async (context) => {
    const { _meta: { progressToken } = {} } = context.mcpReq;
    if (progressToken !== undefined)
      await context.mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress: 1 },
      });
    await context.mcpReq.log('info', 'half way');
    return { content: [] };
  });
  server.registerTool('wait', {}, async (context) => {
    await new Promise((resolve) => context.mcpReq.signal.addEventListener('abort', resolve));
    return { content: [] };
  });
  server.registerResource('note', 'note://1', {}, async (uri) => ({
    contents: [{ uri: uri.href, text: 'milk' }],
  }));
}
