/** Questions of a server that asks without end, while the client answers none. */
import { McpServer } from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';
import { maxQuestions } from '../../../src/bridge/base/limits.ts';
import { statefulServer } from '../../support/servers/protocol-server.ts';
import { startBridge } from '../rig.ts';

interface Line {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: unknown;
}

it('BR-16: a server’s questions are bounded, and accepted again after answers', async () => {
  const more = 20;
  const refusals: string[] = [];
  const asking = Promise.withResolvers<void>();
  const server = await statefulServer(() => {
    const made = new McpServer({ name: 'curious', version: '1.0.0' });
    made.registerTool('ask', {}, async ({ mcpReq }) => {
      const ask = async (): Promise<void> => {
        await mcpReq
          .send({ method: 'roots/list' })
          .catch((error: unknown) => void refusals.push(String(error)));
      };
      for (let n = 0; n < maxQuestions + more; n += 1) void ask();
      await asking.promise;
      return { content: [] };
    });
    return made;
  });
  const { toBridge, fromBridge } = await startBridge(server.url);
  const heard: Line[] = [];
  let text = '';
  fromBridge.on('data', (piece: Buffer) => {
    const lines = (text + piece.toString()).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) heard.push(JSON.parse(line) as Line);
  });
  const tell = (message: object): void =>
    void toBridge.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const asked = (): readonly Line[] => heard.filter(({ method }) => method === 'roots/list');
  const capabilities = { roots: {} };
  const clientInfo = { name: 'silent', version: '1.0.0' };
  tell({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities, clientInfo } });
  await expect.poll(() => heard.length).toBe(1);
  tell({ method: 'notifications/initialized' });
  tell({ id: 2, method: 'tools/call', params: { name: 'ask' } });
  await expect.poll(() => refusals.length).toBe(more);
  expect(asked()).toHaveLength(maxQuestions);
  expect(refusals[0]).toContain('256 questions of this server wait');

  for (const { id } of asked()) tell({ id, result: { roots: [] } });
  asking.resolve();
  await expect.poll(() => heard.some(({ id }) => id === 2)).toBe(true);
  tell({ id: 3, method: 'tools/call', params: { name: 'ask' } });
  await expect.poll(() => asked().length).toBe(2 * maxQuestions);
});
