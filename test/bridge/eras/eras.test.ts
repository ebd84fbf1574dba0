/** Clients and servers of different eras: the stateful revisions, and the stateless one of 2026-07-28. */
import type { Client, JSONRPCRequest } from '@modelcontextprotocol/client';
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { createInterface } from 'node:readline';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { enveloped } from '../../../src/bridge/base/envelope.ts';
import {
  type ProtocolServer,
  statefulServer,
  statelessServer,
} from '../../support/servers/protocol-server.ts';
import { ParamHeaders } from '../../../src/bridge/server/param-headers.ts';
import { bridged, startBridge, tokenConnection } from '../rig.ts';
import { addCommonTools } from '../tools.ts';

const form = { mode: 'form', message: 'Why?', requestedSchema: { type: 'object', properties: {} } } as const;

function tools(): McpServer {
  const server = new McpServer({ name: 'tools', version: '1.0.0' }, { capabilities: { logging: {} } });
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }) }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }));
  addCommonTools(server);
  return server;
}

/** Asks by `input_required`, twice. */
function statelessTools(): McpServer {
  const server = tools();
  server.registerTool('ask', {}, async (context) => {
    const { inputResponses, requestState } = context.mcpReq;
    const state = requestState();
    if (state === undefined)
      return inputRequired({ inputRequests: { first: inputRequired.elicit(form) }, requestState: 'one' });
    const answered = acceptedContent(inputResponses, 'first') ?? acceptedContent(inputResponses, 'second');
    if (state === 'one')
      return inputRequired({ inputRequests: { second: inputRequired.elicit(form) }, requestState: 'two' });
    return { content: [{ type: 'text', text: `${JSON.stringify(state)} ${JSON.stringify(answered)}` }] };
  });
  return server;
}

/** Asks by requests of its own, twice. */
function statefulTools(): McpServer {
  const server = tools();
  server.registerTool('ask', {}, async (context) => {
    await context.mcpReq.elicitInput(form);
    const { content } = await context.mcpReq.elicitInput(form);
    return { content: [{ type: 'text', text: `"two" ${JSON.stringify(content)}` }] };
  });
  return server;
}

const echo = { name: 'echo', arguments: { text: 'hi' } };

const stateless = {
  versionNegotiation: { mode: { pin: '2026-07-28' } },
  capabilities: { elicitation: {} },
} as const;
const stateful = { capabilities: { elicitation: {} } } as const;

describe.each([
  ['a stateful client, a stateless server', stateful, async () => statelessServer(statelessTools)],
  ['a stateless client, a stateful server', stateless, async () => statefulServer(statefulTools)],
  ['a stateless client, a stateless server', stateless, async () => statelessServer(statelessTools)],
  ['a stateful client, a stateful server', stateful, async () => statefulServer(statefulTools)],
])('%s', (_what, options, start: () => Promise<ProtocolServer>) => {
  const open = async () => {
    const server = await start();
    let asked = 0;
    const rig = await bridged(server.url, options, (client: Client) =>
      client.setRequestHandler('elicitation/create', async () => {
        asked += 1;
        return { action: 'accept', content: { asked } };
      }),
    );
    return { ...rig, server, asked: () => asked };
  };

  it('a client of either era lists, calls and reads', async () => {
    const { client, said } = await open();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'echo',
      'steps',
      'wait',
      'ask',
    ]);
    expect(await client.callTool(echo)).toMatchObject({
      content: [{ text: 'hi' }],
    });
    expect(await client.readResource({ uri: 'note://1' })).toMatchObject({ contents: [{ text: 'milk' }] });
    expect(client.getServerVersion()).toMatchObject({ name: 'tools' });
    expect(said).toEqual([]);
  });

  it('BR-12: asks twice in the middle of a call, which runs once', async () => {
    const { client, asked, said } = await open();
    const result = await client.callTool({ name: 'ask' });
    expect(result).toMatchObject({ content: [{ text: '"two" {"asked":2}' }] });
    expect(asked()).toBe(2);
    expect(said).toEqual([]);
  });

  it('BR-9: cancels a call in either era', async () => {
    const { client, server, said } = await open();
    const cancel = new AbortController();
    const call = client.callTool({ name: 'wait' }, { signal: cancel.signal });
    await expect.poll(() => server.count('tools/call')).toBe(1);
    cancel.abort();
    await expect(call).rejects.toThrow();
    expect(await client.callTool(echo)).toMatchObject({
      content: [{ text: 'hi' }],
    });
    expect(said).toEqual([]);
  });

  it('BR-7: never sends a broken call again in either era', async () => {
    const { client, server } = await open();
    server.mishap = ({ method }) => (method === 'tools/call' ? 'cut' : undefined);
    await expect(client.callTool(echo)).rejects.toThrow(/may have run/);
    expect(server.count('tools/call')).toBe(1);
  });
});

function regionServer(header: unknown = 'Region'): McpServer {
  const made = new McpServer({ name: 'tools', version: '1.0.0' });
  const region = z.string().meta({ 'x-mcp-header': header });
  made.registerTool('deploy', { inputSchema: z.object({ region }) }, ({ region: where }) => ({
    content: [{ type: 'text', text: where }],
  }));
  made.registerTool('plain', {}, () => ({ content: [] }));
  return made;
}

const deploy = { name: 'deploy', arguments: { region: 'süd' } };

describe('a stateless server', () => {
  it('BR-10: gets the headers that its revision wants', async () => {
    const server = await statelessServer(() => regionServer());
    const { client } = await bridged(server.url);
    await client.listTools();
    expect(await client.callTool(deploy)).toMatchObject({ content: [{ text: 'süd' }] });
    const { headers } = server.received.at(-1) ?? {};
    expect(headers?.get('mcp-protocol-version')).toBe('2026-07-28');
    expect(headers?.get('mcp-method')).toBe('tools/call');
    expect(headers?.get('mcp-name')).toBe('deploy');
    expect(headers?.get('mcp-param-region')).toBe('=?base64?c8O8ZA==?=');
    expect(server.count('tools/list')).toBe(1);
  });

  it('gets its headers from a client that never lists', async () => {
    const server = await statelessServer(() => regionServer());
    const { client, said } = await bridged(server.url);
    await Promise.all([1, 2, 3].map(async () => client.callTool(deploy)));
    await client.callTool(deploy);
    expect(server.count('tools/list')).toBe(1);
    const calls = server.received.filter(({ method }) => method === 'tools/call');
    expect(calls.map(({ headers }) => headers.get('mcp-param-region'))).toEqual(
      Array.from({ length: 4 }, () => '=?base64?c8O8ZA==?='),
    );
    expect(said).toEqual([]);
  });

  it('BR-10: is asked for its tools again if it misses a header', async () => {
    let header = 'Zone';
    const server = await statelessServer(() => regionServer(header));
    const { client, said } = await bridged(server.url);
    await client.listTools();
    header = 'Region';
    expect(await client.callTool(deploy)).toMatchObject({ content: [{ text: 'süd' }] });
    const calls = server.received.filter(({ method }) => method === 'tools/call');
    expect(calls.map(({ headers }) => headers.has('mcp-param-region'))).toEqual([false, true]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    expect(said).toEqual([]);
  });

  it.each([[''], ['a b'], [7]])('BR-11: loses a tool whose declaration is forbidden: %j', async (header) => {
    const server = await statelessServer(() => regionServer(header));
    const { client, said } = await bridged(server.url);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['plain']);
    await client.listTools();
    expect(said).toEqual([expect.stringMatching(/tool "deploy" declares headers/)]);
  });
});

const listed = (inputSchema: unknown): number => {
  const asking = { jsonrpc: '2.0', id: 1, method: 'tools/list' } as const;
  const answer = new ParamHeaders(() => undefined).learn(asking, {
    jsonrpc: '2.0',
    id: 1,
    result: { tools: [{ name: 'tool', inputSchema }] },
  });
  return 'result' in answer && Array.isArray(answer.result['tools']) ? answer.result['tools'].length : 0;
};
const text = { type: 'string', 'x-mcp-header': 'Region' };

it.each([
  ['in nested properties', { properties: { a: { properties: { b: text } } } }, 1],
  ['at the root', { ...text, properties: {} }, 0],
  ['on a number', { properties: { a: { ...text, type: 'number' } } }, 0],
  ['twice, but for the case', { properties: { a: text, b: { ...text, 'x-mcp-header': 'REGION' } } }, 0],
  ['in the items of an array', { properties: { a: { items: text } } }, 0],
])('a declaration of a header is taken where the revision allows it: %s', (_what, schema, count) => {
  expect(listed(schema)).toBe(count);
});

it('follows a client that falls back to the older handshake', async () => {
  const server = await statefulServer(statefulTools);
  const gate = Promise.withResolvers<void>();
  const { toBridge, fromBridge } = await startBridge(server.url, async () => {
    await gate.promise;
    return tokenConnection(server.url.href);
  });
  const lines = createInterface({ input: fromBridge })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => JSON.parse(String((await lines.next()).value)) as unknown;
  const say = (message: object) => void toBridge.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

  const clientInfo = { name: 'a-client', version: '1.0.0' };
  const capabilities = { elicitation: {} };
  const discover: JSONRPCRequest = { jsonrpc: '2.0', id: 1, method: 'server/discover' };
  say(enveloped(discover, { info: clientInfo, capabilities }));
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo };
  say({ id: 2, method: 'initialize', params });
  gate.resolve();
  const answers = [await next(), await next()];
  expect(answers).toContainEqual(expect.objectContaining({ id: 1, error: expect.anything() }));
  expect(answers).toContainEqual(expect.objectContaining({ id: 2, result: expect.anything() }));

  say({ method: 'notifications/initialized' });
  say({ id: 3, method: 'tools/call', params: { name: 'ask', arguments: {} } });
  for (let asked = 0; asked < 2; asked += 1) {
    const elicitation = z.looseObject({ id: z.unknown(), method: z.literal('elicitation/create') });
    const { id } = elicitation.parse(await next());
    say({ id, result: { action: 'accept', content: {} } });
  }
  expect(await next()).toMatchObject({ id: 3, result: { content: [{ text: '"two" {}' }] } });
});
