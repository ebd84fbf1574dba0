/**
 * A stock client of the protocol's SDK, authorized by `@keyturn/client`, in both major versions: the built library and
 * broker, and a real MCP server.
 */
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FetchOptions, TransportOptions } from '../../../src/client/index.ts';
import { questionsAt } from '../../support/homes/ask-broker.ts';
import { commonHome } from '../../support/homes/common-home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { library, pairedProgram } from '../../support/processes/program.ts';

const { KeyturnError, transportOptions } = await library();

const identity = { name: 'a-stock-client', version: '1.0.0' };

interface StockClient {
  call(tool: 'list-notes' | 'add-note'): Promise<string>;
}

async function stock1(url: string, options: TransportOptions): Promise<StockClient> {
  const client = new Client1(identity);
  onTestFinished(() => client.close());
  await client.connect(new Http1(new URL(url), options));
  return { call: async (name) => JSON.stringify(await client.callTool(toolCall(name))) };
}

async function stock2(url: string, options: TransportOptions): Promise<StockClient> {
  const client = new Client2(identity);
  onTestFinished(() => client.close());
  await client.connect(new Http2(new URL(url), options));
  return { call: async (name) => JSON.stringify(await client.callTool(toolCall(name))) };
}

function toolCall(name: string) {
  return { name, arguments: name === 'add-note' ? { note: 'milk' } : {} };
}

/** Each test has servers and a program of its own. */
const there = commonHome();

let opened = 0;

describe.each([
  ['1', stock1],
  ['2', stock2],
])('a client of the SDK, major version %s', (_version, stock) => {
  async function openClient(narrow: { readonly scope?: string } = {}, more: Partial<FetchOptions> = {}) {
    const { home, world, resource } = await there.newWorld();
    // A narrow permission of a wide sign-in: a yes widens it, and nobody signs in again.
    if (narrow.scope !== undefined) await owner.signIn(home, resource, { scope: 'notes:read notes:write' });
    const name = `stock${(opened += 1)}`;
    const connection = await pairedProgram(home, name);
    await there.ask('permission.set', { app: name, resource, decision: 'allow', ...narrow });
    const options = { resource, fetch: world.fetch, interaction: 'allow', ...more } as const;
    const client = await stock(resource, await transportOptions(connection, options));
    return { home, world, resource, client };
  }

  it('goes on after a token that ended and through a step-up', async () => {
    const { client, world } = await openClient();
    expect(await client.call('list-notes')).toContain('alice');
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 0 });

    world.expireAccessTokens();
    expect(await client.call('list-notes')).toContain('alice');
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 1 });

    expect(await client.call('add-note')).toContain('milk');
    expect(world.counts().protectedServer.insufficientScope).toBe(1);
    expect(world.counts().authorizationServer).toMatchObject({ registrations: 1, codeExchanges: 2 });
  });

  it('gets an error while the user is asked, and its call is not sent', async () => {
    const { client, home, world } = await openClient({ scope: 'notes:read' }, { timeout: 0 });
    const told: unknown = await client.call('add-note').catch((error: unknown) => error);
    expect(told).toBeInstanceOf(KeyturnError);
    expect(told).toMatchObject({ reason: 'consent_pending' });
    const { served } = world.counts().protectedServer;

    const [question] = await questionsAt(home);
    await owner.answer(home, question?.id ?? '', 'yes');
    expect(await client.call('list-notes')).not.toContain('milk');
    expect(world.counts().protectedServer.served).toBe(served + 1);
    expect(await client.call('add-note')).toContain('milk');
  });
});
