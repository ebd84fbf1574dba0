/** A stock client of the protocol's SDK, authorized by `@keyturn/client`, in both major versions: built library, broker, MCP server. */
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, it, onTestFinished } from 'vitest';
import type { TransportOptions } from '../../../src/client/index.ts';
import { commonHome } from '../../support/homes/common-home.ts';
import { library, pairedProgram } from '../../support/processes/program.ts';

const { transportOptions } = await library();

const identity = { name: 'a-stock-client', version: '1.0.0' };
const there = commonHome();

const sdks = {
  '1': async (url: URL, options: TransportOptions) => {
    const client = new Client1(identity);
    await client.connect(new Http1(url, options));
    return client;
  },
  '2': async (url: URL, options: TransportOptions) => {
    const client = new Client2(identity);
    await client.connect(new Http2(url, options));
    return client;
  },
} as const;

it.each(['1', '2'] as const)('a client of SDK %s outlives its token, and steps up', async (version) => {
  const { home, world, resource } = await there.newWorld();
  const name = `stock${version}`;
  const connection = await pairedProgram(home, name);
  await there.ask('permission.set', { app: name, resource, decision: 'allow' });
  const options = { resource, fetch: world.fetch, interaction: 'allow' } as const;
  const client = await sdks[version](new URL(resource), await transportOptions(connection, options));
  onTestFinished(() => client.close());
  const call = async (tool: string, args = {}) =>
    JSON.stringify(await client.callTool({ name: tool, arguments: args }));
  expect(await call('list-notes')).toContain('alice');
  expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 0 });

  world.expireAccessTokens();
  expect(await call('list-notes')).toContain('alice');
  expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 1 });

  expect(await call('add-note', { note: 'milk' })).toContain('milk');
  expect(world.counts().protectedServer.insufficientScope).toBe(1);
  expect(world.counts().authorizationServer).toMatchObject({ registrations: 1, codesRedeemed: 2 });
});
