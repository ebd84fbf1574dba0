/** What a client told the session that the server has forgotten: the session after it hears it again. */
import { McpServer } from '@modelcontextprotocol/server';
import { expect, it } from 'vitest';
import { type ProtocolServer, statefulServer } from '../../support/servers/protocol-server.ts';
import { bridged } from '../rig.ts';

/** Tells of a change of each resource that this session has subscribed. */
function notes(): McpServer {
  const server = new McpServer(
    { name: 'notes', version: '1.0.0' },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  const subscribed = new Set<string>();
  server.server.setRequestHandler('resources/subscribe', ({ params }) => {
    subscribed.add(params.uri);
    return {};
  });
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    subscribed.delete(params.uri);
    return {};
  });
  server.registerTool('change', {}, async (context) => {
    for (const uri of subscribed)
      await context.mcpReq.notify({ method: 'notifications/resources/updated', params: { uri } });
    await context.mcpReq.log('info', 'too fine');
    await context.mcpReq.log('error', 'coarse');
    return { content: [] };
  });
  return server;
}

async function open() {
  const server = await statefulServer(notes);
  const heard: string[] = [];
  const rig = await bridged(server.url, {}, (client) => {
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void heard.push(params.uri),
    );
    client.setNotificationHandler(
      'notifications/message',
      ({ params }) => void heard.push(String(params.data)),
    );
  });
  return { ...rig, server, heard };
}

/** What the server got since its last session began. */
function sinceRenewal({ received }: ProtocolServer): string[] {
  const begun = received.findLastIndex(({ method }) => method === 'initialize');
  return received
    .slice(begun + 1)
    .flatMap(({ method, params }) => (method === undefined ? [] : [`${method} ${JSON.stringify(params)}`]));
}

it('BR-5: repeats log level and wanted subscriptions before the next request', async () => {
  const { client, server, heard, said } = await open();
  await client.setLoggingLevel('debug');
  await client.setLoggingLevel('warning');
  for (const uri of ['note://1', 'note://2']) await client.subscribeResource({ uri });
  await client.unsubscribeResource({ uri: 'note://1' });
  server.forget();
  await client.callTool({ name: 'change' });
  expect(server.count('initialize')).toBe(2);
  const [initialized, ...repeated] = sinceRenewal(server);
  expect(initialized).toMatch(/^notifications\/initialized/);
  expect(repeated.slice(0, 2).toSorted()).toEqual([
    'logging/setLevel {"level":"warning"}',
    'resources/subscribe {"uri":"note://2"}',
  ]);
  expect(repeated[2]).toMatch(/^tools\/call/);
  expect(repeated).toHaveLength(3);
  expect(heard).toEqual(['note://2', 'coarse']);
  expect(said).toEqual([]);
});

/** Refuses each subscription. */
const refusing: ProtocolServer['mishap'] = ({ method, id }) =>
  method === 'resources/subscribe'
    ? {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32_602, message: 'no' } }),
      }
    : undefined;

it('repeats nothing that the server has refused', async () => {
  const { client, server, said } = await open();
  server.mishap = refusing;
  await expect(client.subscribeResource({ uri: 'note://1' })).rejects.toMatchObject({ code: -32_602 });
  server.forget();
  await client.callTool({ name: 'change' });
  expect(sinceRenewal(server).filter((line) => line.startsWith('resources/'))).toEqual([]);
  expect(said).toEqual([]);
});

it('says once that the server refuses a repeat, and the request goes on', async () => {
  const { client, server, heard, said } = await open();
  for (const uri of ['note://1', 'note://2']) await client.subscribeResource({ uri });
  server.mishap = refusing;
  server.forget();
  await client.callTool({ name: 'change' });
  expect(heard).toEqual(['too fine', 'coarse']);
  expect(said).toEqual([expect.stringMatching(/did not take.*"resources\/subscribe" \(2 times\)/)]);
  server.forget();
  await client.callTool({ name: 'change' });
  // What was refused is not asked again.
  expect(server.count('resources/subscribe')).toBe(4);
  expect(said).toHaveLength(1);
});
