/** Pages that a server wants opened, through the bridge: for clients that can't show them, and for those that can. */
import type { Client, ClientOptions } from '@modelcontextprotocol/client';
import {
  acceptedContent,
  inputRequired,
  McpServer,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server';
import { describe, expect, it } from 'vitest';
import { KeyturnError } from '../../src/base/errors.ts';
import { type ProtocolServer, statefulServer, statelessServer } from '../support/servers/protocol-server.ts';
import { bridged, exchange, startBridge, tokenBroker } from './rig.ts';

const url = 'https://pay.example/checkout?order=7';
const message = 'Pay first';
const elicitationId = 'e1';

const form = { mode: 'form', message: 'Why?', requestedSchema: { type: 'object', properties: {} } } as const;

/** Asks by requests of its own. */
function statefulShop(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' });
  server.registerTool('pay', {}, async (context) => {
    const { action } = await context.mcpReq.elicitInput({ mode: 'url', url, message, elicitationId });
    return { content: [{ type: 'text', text: action }] };
  });
  server.registerTool('refuse', {}, () => {
    throw new UrlElicitationRequiredError([
      { mode: 'url', url, message, elicitationId },
      { mode: 'url', url: 'https://pay.example/terms', message, elicitationId: 'e2' },
    ]);
  });
  server.registerTool('ask', {}, async (context) => {
    // As servers of earlier revisions do, which know forms alone.
    const { mode: _mode, ...params } = form;
    const answer = context.mcpReq.send({ method: 'elicitation/create', params });
    return { content: [{ type: 'text', text: await answer.then(JSON.stringify, String) }] };
  });
  return server;
}

/** Asks by `input_required`. */
function statelessShop(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' });
  const page = inputRequired.elicitUrl({ url, message });
  server.registerTool('pay', {}, (context) => {
    const { inputResponses = {}, requestState } = context.mcpReq;
    if (requestState() === undefined)
      return inputRequired({ inputRequests: { page }, requestState: 'asked' });
    return { content: [{ type: 'text', text: String(Reflect.get(inputResponses['page'] ?? {}, 'action')) }] };
  });
  server.registerTool('both', {}, (context) => {
    const { inputResponses = {}, requestState } = context.mcpReq;
    if (requestState() === undefined) {
      const which = inputRequired.elicit(form);
      return inputRequired({ inputRequests: { page, which }, requestState: 'asked' });
    }
    const content = acceptedContent(inputResponses, 'which');
    const action: unknown = Reflect.get(inputResponses['page'] ?? {}, 'action');
    return { content: [{ type: 'text', text: JSON.stringify([requestState(), action, content]) }] };
  });
  return server;
}

type Action = 'accept' | 'decline' | 'cancel';

/** A client at the bridge, and a broker whose person answers each page with `action`. */
async function opened(
  server: ProtocolServer,
  options: ClientOptions,
  action: Action | (() => Promise<Action>) = 'accept',
  prepare?: (client: Client) => void,
) {
  const shown: unknown[] = [];
  const withdrawn: unknown[] = [];
  const broker = await tokenBroker(server.url.href, async (caller, method, params) => {
    shown.push([method, params]);
    caller.signal.addEventListener('abort', () => void withdrawn.push(params));
    return { action: typeof action === 'string' ? action : await action() };
  });
  const rig = await bridged(server.url, options, prepare, broker);
  return { ...rig, server, shown, withdrawn, resource: server.url.href };
}

const stateless = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;

const text = (result: unknown): unknown =>
  (result as { content?: readonly { readonly text?: string }[] }).content?.[0]?.text;

describe.each([
  ['a stateful client, a stateful server', {}, async () => statefulServer(statefulShop)],
  ['a stateful client, a stateless server', {}, async () => statelessServer(statelessShop)],
  ['a stateless client, a stateful server', stateless, async () => statefulServer(statefulShop)],
  ['a stateless client, a stateless server', stateless, async () => statelessServer(statelessShop)],
])('a page in the middle of a call: %s', (_what, options: ClientOptions, start) => {
  it.each(['accept', 'decline', 'cancel'] as const)(
    'is a question of the broker’s, and the server gets the answer: %s',
    async (action) => {
      const { client, shown, said, resource } = await opened(await start(), options, action);
      expect(text(await client.callTool({ name: 'pay' }))).toBe(action);
      expect(shown).toEqual([['url.show', { resource, url, message }]]);
      expect(said).toEqual([]);
    },
  );
});

describe('a page in the middle of a call', () => {
  it('is not opened where the broker refuses to show it, and the user is told why', async () => {
    const { client, said } = await opened(await statefulServer(statefulShop), {}, async () => {
      throw new KeyturnError('insecure_url', 'Refused to show an address.');
    });
    expect(text(await client.callTool({ name: 'pay' }))).toBe('cancel');
    expect(said).toEqual([expect.stringMatching(/Refused to show an address\..*\(insecure_url\)$/)]);
  });

  it('is asked about beside a form, which the client gets alone', async () => {
    const asked: unknown[] = [];
    const able = { ...stateless, capabilities: { elicitation: { form: {} } } };
    const { client, shown } = await opened(await statelessServer(statelessShop), able, 'decline', (made) =>
      made.setRequestHandler('elicitation/create', async ({ params }) => {
        asked.push(params);
        return { action: 'accept', content: { colour: 'red' } };
      }),
    );
    expect(text(await client.callTool({ name: 'both' }))).toBe('["asked","decline",{"colour":"red"}]');
    expect(asked).toEqual([expect.objectContaining({ mode: 'form' })]);
    expect(shown).toHaveLength(1);
  });

  it('is withdrawn with the call that it belongs to', async () => {
    const { client, shown, withdrawn } = await opened(
      await statelessServer(statelessShop),
      {},
      async () => new Promise(() => undefined),
    );
    const cancel = new AbortController();
    const call = client.callTool({ name: 'pay' }, { signal: cancel.signal });
    await expect.poll(() => shown).toHaveLength(1);
    cancel.abort();
    await expect(call).rejects.toThrow();
    await expect.poll(() => withdrawn).toHaveLength(1);
  });
});

const initialized = async (params: object): Promise<unknown> => {
  const server = await statefulServer(statefulShop);
  const rig = await startBridge(server.url, await tokenBroker(server.url.href));
  const clientInfo = { name: 'a', version: '1' };
  const initialize = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { clientInfo, ...params } };
  await exchange(rig, JSON.stringify(initialize));
  return server.received.find(({ method }) => method === 'initialize')?.params;
};

it.each([
  ['forms, unnamed', { elicitation: {} }, { elicitation: { form: {}, url: {} } }],
  ['forms', { elicitation: { form: {} }, roots: {} }, { elicitation: { form: {}, url: {} }, roots: {} }],
])('says that it shows pages, in the place of a client that said: %s', async (_what, capabilities, told) => {
  expect(await initialized({ protocolVersion: '2025-11-25', capabilities })).toMatchObject({
    capabilities: told,
  });
});

describe('a request that the server refuses until pages were opened', () => {
  const refusalOf = async (action: Action | (() => Promise<Action>), options: ClientOptions = {}) => {
    const { client, shown, server } = await opened(await statefulServer(statefulShop), options, action);
    const error: unknown = await client.callTool({ name: 'refuse' }).catch((caught: unknown) => caught);
    return {
      error: error as { code: number; message: string; data: unknown },
      shown,
      count: server.count('tools/call'),
    };
  };

  it('is answered with what was opened, after every approval, and not sent again', async () => {
    const { error, shown, count } = await refusalOf('accept');
    expect(shown).toHaveLength(2);
    expect(error.code).toBe(-32_042);
    expect(error.message).toContain('"https://pay.example/checkout", "https://pay.example/terms"');
    expect(error.message).toContain('Send the request again when they are done there.');
    expect(error.message).not.toContain('order=7');
    expect(count).toBe(1);
  });

  it('is answered with the denial, and no further pages are shown', async () => {
    const { error, shown, count } = await refusalOf('decline');
    expect(shown).toHaveLength(1);
    expect(error.message).toMatch(/the user denied it\. The request did not run\./);
    expect(count).toBe(1);
  });

  it('passes unchanged to a client that shows pages', async () => {
    const { error, shown } = await refusalOf('accept', { capabilities: { elicitation: { url: {} } } });
    expect(shown).toEqual([]);
    expect(error.message).not.toContain('Keyturn');
    expect(error).toMatchObject({ code: -32_042, data: { elicitations: [{ url }, {}] } });
  });
});
