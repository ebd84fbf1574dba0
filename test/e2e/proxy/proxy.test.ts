/** Programs without a key, by an address of this machine: stock clients, what they get, and what they never see. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, it, onTestFinished } from 'vitest';
import { homeInWorld } from '../../support/home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { nextCard } from './proxy-rig.ts';

/** The SDK's own client, as anybody would set it up: an address, and nothing else. */
async function stockClient(url: string): Promise<Client> {
  const client = new Client({ name: 'a-stock-client', version: '1.0.0' });
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

it('a proxy serves a stock client that holds no token, once it is allowed', async () => {
  const { home, world, resource } = await homeInWorld();
  const url = (await home.ok(['proxy', 'add', resource])).trim();
  const connecting = stockClient(url);
  connecting.catch(() => undefined);
  const { id, ...asked } = await nextCard(home);
  expect(asked).toMatchObject({
    kind: 'allow',
    resource,
    app: '127.0.0.1',
    proxied: true,
  });
  expect(asked).not.toHaveProperty('appProcess');
  expect(await home.ok(['request', 'list'])).toContain('any of your programs that knows it');
  await owner.answer(home, id, 'approve');
  const program = await connecting;
  const notes = await program.callTool({ name: 'list-notes', arguments: {} });
  expect(notes.isError).not.toBe(true);
  expect(world.counts().authorizationServer.authorizations).toBe(1);
});
