/** The bridge between a client of the SDK and servers of its stateful revisions, over real HTTP. */
import type { Client, ClientOptions } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { KeyturnError } from '../../src/base/errors.ts';
import { type Mishap, type ProtocolServer, statefulServer } from '../support/servers/protocol-server.ts';
import { type Dispatch, startTokenBroker } from '../support/token-broker.ts';
import { bridged, exchange, startBridge, tokenConnection } from './rig.ts';
import { addCommonTools } from './tools.ts';

function textServer(): McpServer {
  const server = new McpServer(
    { name: 'text', version: '1.0.0' },
    { capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  server.registerTool(
    'repeat',
    { inputSchema: z.object({ text: z.string(), times: z.number() }) },
    ({ text, times }) => ({ content: [{ type: 'text', text: text.repeat(times) }] }),
  );
  server.registerTool('ask', {}, async (context) => {
    const asked = {
      mode: 'form',
      message: 'Which?',
      requestedSchema: { type: 'object', properties: {} },
    } as const;
    const { action } = await context.mcpReq.elicitInput(asked);
    const { content } = await context.mcpReq.requestSampling({
      maxTokens: 8,
      messages: [{ role: 'user', content: { type: 'text', text: 'Say hello' } }],
    });
    return { content: [{ type: 'text', text: JSON.stringify([action, content]) }] };
  });
  addCommonTools(server);
  return server;
}

const capabilities = { elicitation: {}, sampling: {}, roots: {} };

function answering(client: Client): void {
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: {} }));
  client.setRequestHandler('sampling/createMessage', async () => ({
    model: 'small',
    role: 'assistant',
    content: { type: 'text', text: 'hello' },
  }));
}

/** A client that is bridged to it. */
async function session(options?: ClientOptions, prepare?: (client: Client) => void) {
  const server = await statefulServer(textServer);
  return { server, ...(await bridged(server.url, options, prepare)) };
}

const repeat = { name: 'repeat', arguments: { text: 'ab', times: 2 } };

describe('a session', () => {
  it('BR-4: names session and revision in each request, and takes both kinds of answer', async () => {
    const { server, client } = await session();
    await client.callTool(repeat);
    await expect.poll(() => server.received.some(({ http }) => http === 'GET')).toBe(true);
    const [handshake, ...later] = server.received;
    expect(handshake?.headers.get('mcp-session-id')).toBeNull();
    for (const { http, headers } of later) {
      expect(headers.get('mcp-session-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(headers.get('mcp-protocol-version')).toBe('2025-11-25');
      if (http === 'POST') expect(headers.get('accept')).toMatch(/application\/json.*text\/event-stream/);
    }
    expect(later.map(({ method }) => method)).toContain('tools/call');
  });

  it('BR-9: tells the server what the client has cancelled', async () => {
    const { server, client, said } = await session();
    const cancel = new AbortController();
    const call = client.callTool({ name: 'wait' }, { signal: cancel.signal });
    await expect.poll(() => server.count('tools/call')).toBe(1);
    cancel.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(() => server.count('notifications/cancelled')).toBe(1);
    const { id } = server.received.find(({ method }) => method === 'tools/call') ?? {};
    expect(server.received.find(({ method }) => method === 'notifications/cancelled')?.params).toMatchObject({
      requestId: id,
    });
    expect(said).toEqual([]);
  });

  it('BR-2 BR-6: ends with its input, and tells the server so', async () => {
    const { server, client, ended, toBridge } = await session();
    await client.listTools();
    toBridge.end();
    await ended;
    // The bridge waits half a second for it; on a busy machine it arrives later.
    await expect.poll(() => server.received.at(-1)?.http).toBe('DELETE');
  });
});

it('BR-5: a server that forgets its sessions gets the client’s own handshake again', async () => {
  const { server, client, said } = await session({ capabilities }, answering);
  await client.callTool(repeat);
  server.forget();
  expect(await client.callTool(repeat)).toMatchObject({ content: [{ text: 'abab' }] });
  expect(JSON.stringify(await client.callTool({ name: 'ask' }))).toMatch(/accept.*hello/);
  expect(server.count('initialize')).toBe(2);
  const [first, second] = server.received.filter(({ method }) => method === 'initialize');
  expect(second?.params).toEqual(first?.params);
  expect(server.count('notifications/initialized')).toBe(2);
  expect(said).toEqual([]);
});

it('asks for no token to end its session once its broker has gone', async () => {
  const server = await statefulServer(textServer);
  const connection = await tokenConnection(server.url.href);
  let isOpen = true;
  const { client, toBridge, ended } = await bridged(server.url, {}, undefined, async () => ({
    ...connection,
    get isOpen() {
      return isOpen;
    },
    getCredential: async (...asked) => connection.getCredential(...asked),
  }));
  await client.callTool(repeat);
  isOpen = false;
  toBridge.end();
  await ended;
  expect(server.received.map(({ http }) => http)).not.toContain('DELETE');
});

it('waits for a token that the authorization server can’t give for a moment', async () => {
  const server = await statefulServer(textServer);
  let left = 2;
  const { client, said } = await bridged(server.url, {}, undefined, async () => {
    const rests = new KeyturnError('authorization_server_unreachable', 'It rests.', { retryAfter: 1 });
    if (left-- > 0) throw rests;
    return tokenConnection(server.url.href);
  });
  expect(await client.callTool(repeat)).toMatchObject({ content: [{ text: 'abab' }] });
  expect(said).toEqual([]);
});

describe('a stream that breaks', () => {
  it.each(['cut', 'end stream'] as const)(
    'BR-7: never sends the call of a tool again whose stream breaks: %s',
    async (mishap) => {
      const { server, client, said } = await session();
      server.mishap = ({ method }) => (method === 'tools/call' ? mishap : undefined);
      await expect(client.callTool(repeat)).rejects.toMatchObject({
        message: expect.stringContaining('may have run'),
        data: { reason: 'mcp_server_unreachable', outcome: 'may have run' },
      });
      expect(server.count('tools/call')).toBe(1);
      expect(said).toHaveLength(1);
      server.mishap = () => undefined;
      expect(await client.callTool(repeat)).toMatchObject({ content: [{ text: 'abab' }] });
    },
  );

  it('BR-7: resends a request whose stream breaks, if it changes nothing', async () => {
    const { server, client, said } = await session();
    let left = 2;
    server.mishap = ({ method }) => (method === 'tools/list' && left-- > 0 ? 'cut' : undefined);
    expect((await client.listTools()).tools).toHaveLength(4);
    const ids = server.received.filter(({ method }) => method === 'tools/list').map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    expect(said).toEqual([]);
  });

  it('BR-7: gives up a request whose stream breaks again and again', async () => {
    const { server, client } = await session();
    server.mishap = ({ method }) => (method === 'tools/list' ? 'cut' : undefined);
    await expect(client.listTools()).rejects.toMatchObject({ data: { outcome: 'may have run' } });
    expect(server.count('tools/list')).toBe(4);
  });
});

describe('a token that is rejected', () => {
  /** Answers each call of a tool that carries the first token. */
  const atFirstToken =
    (mishap: Mishap): ProtocolServer['mishap'] =>
    ({ method, headers }) =>
      method === 'tools/call' && headers.get('authorization') === 'Bearer secret-1' ? mishap : undefined;

  it('BR-15: replaces a token that is rejected, and the call runs once', async () => {
    const { server, client } = await session();
    server.mishap = atFirstToken({ status: 401 });
    expect(await client.callTool(repeat)).toMatchObject({ content: [{ text: 'abab' }] });
    const calls = server.received.filter(({ method }) => method === 'tools/call');
    expect(calls.map(({ headers }) => headers.get('authorization'))).toEqual([
      'Bearer secret-1',
      'Bearer secret-2',
    ]);
  });

  it('BR-15: steps up in the middle of a session', async () => {
    const { server, client } = await session();
    const challenge = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="read write"' };
    server.mishap = atFirstToken({ status: 403, headers: challenge });
    expect(await client.callTool(repeat)).toMatchObject({ content: [{ text: 'abab' }] });
    expect(server.count('tools/call')).toBe(2);
  });

  it('BR-15: sends rejected tokens a bounded number of times', async () => {
    const { server, client, said } = await session();
    server.mishap = ({ method }) => (method === 'tools/list' ? { status: 401 } : undefined);
    await expect(client.listTools()).rejects.toMatchObject({ data: { reason: 'token_rejected' } });
    expect(server.count('tools/list')).toBe(3);
    expect(said).toEqual([expect.stringMatching(/rejects every token.*\(token_rejected\)$/)]);
  });
});

const noMessage = /no message of the protocol/;

describe('what goes wrong at the start', () => {
  it('answers initialize with what is wrong, and goes on once that is fixed', async () => {
    const server = await statefulServer(textServer);
    let tries = 0;
    const rig = await startBridge(server.url, async () => {
      tries += 1;
      if (tries === 1)
        throw new KeyturnError('consent_pending', 'Nobody has answered.', { hint: 'keyturn request list' });
      return tokenConnection(server.url.href);
    });
    const initialize = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
    });
    expect(await exchange(rig, initialize)).toMatchObject({
      id: 1,
      error: { data: { reason: 'consent_pending', hint: 'keyturn request list' } },
    });
    expect(rig.said).toEqual(['keyturn bridge: Nobody has answered. keyturn request list (consent_pending)']);
    expect(await exchange(rig, initialize)).toMatchObject({
      id: 1,
      result: { serverInfo: { name: 'text' } },
    });
  });

  it.each([
    ['a page', { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>' }, noMessage],
    ['nothing there', { status: 404 }, /speaks neither streamable HTTP/],
    [
      'a redirect to another server',
      { status: 307, headers: { location: 'https://other.example/mcp?code=hidden' } },
      /redirects "initialize" to "https:\/\/other\.example", and the bridge follows no redirect to another server/,
    ],
    [
      'a redirect to another path',
      { status: 308, headers: { location: '/login?code=hidden' } },
      /redirects "initialize" to another path of "http:\/\/127\.0\.0\.1:\d+", outside the URL that you allowed/,
    ],
    ['silence', { status: 202 }, /gave no answer/],
  ])('BR-14: names what goes wrong at the start: %s', async (_what, mishap, words) => {
    const server = await statefulServer(textServer);
    server.mishap = () => mishap;
    const named: unknown = await bridged(server.url).catch((error: unknown) => error);
    expect(String(named)).toMatch(words);
    expect(String(named)).not.toContain('hidden');
  });

  it('sends nothing to another server after a redirect', async () => {
    const [server, other] = [await statefulServer(textServer), await statefulServer(textServer)];
    const open: Dispatch = async () => {
      throw new KeyturnError('authorization_not_required', 'open to all');
    };
    const { client } = await bridged(server.url, {}, undefined, await startTokenBroker(open));
    server.mishap = () => ({ status: 307, headers: { location: other.url.href } });
    await expect(client.listTools()).rejects.toThrow(/follows no redirect to another server/);
    expect(other.received).toEqual([]);
  });
});

describe('a client’s broken line', () => {
  it.each([
    ['no version', '{"id":"a","method":"tools/call"}', 'a', -32_600],
    ['an id that is none', '{"jsonrpc":"2.0","id":{},"method":"tools/call"}', null, -32_600],
    ['no JSON', '{"jsonrpc":', null, -32_700],
    ['no message', '{"a":1}', null, -32_600],
  ])('BR-3: is answered under its id, if it has one, as is the next: %s', async (_what, line, id, code) => {
    const rig = await startBridge(new URL('http://127.0.0.1:9/mcp'));
    const refused = { jsonrpc: '2.0', id, error: { code } };
    const answers = [await exchange(rig, line), await exchange(rig, line)];
    expect(answers).toMatchObject([refused, refused]);
  });
});
