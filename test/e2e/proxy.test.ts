/** Programs without a key, by an address of this machine: stock clients, what they get, and what they never see. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { homeInWorld, until } from '../support/home.ts';
import type { TestHome } from '../support/home.ts';

interface Question {
  readonly id: string;
  readonly kind: string;
  readonly client: string;
  readonly resource: string;
}

/** The SDK's own client, as anybody would set it up: an address, and nothing else. */
async function stockClient(url: string): Promise<Client> {
  const client = new Client({ name: 'a-stock-client', version: '1.0.0' });
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

/** The next card, once it is there. */
async function card(home: TestHome): Promise<Question> {
  return until('a card', async () => (await home.json<Question[]>('pending'))[0]);
}

async function proxied() {
  const { home, world, resource } = await homeInWorld();
  const url = (await home.ok(['proxy', 'add', resource])).trim();
  return { home, world, resource, url };
}

describe('a proxy', () => {
  it('lets a stock client work that holds no token, once its person allowed it', async () => {
    const { home, world, resource, url } = await proxied();
    const connecting = stockClient(url);
    connecting.catch(() => undefined);
    const { id, kind, client, ...asked } = await card(home);
    expect({ kind, resource: asked.resource }).toEqual({ kind: 'allow', resource });
    expect(client).toContain('127.0.0.1: ');
    await home.ok(['answer', id, 'yes']);
    const program = await connecting;
    const notes = await program.callTool({ name: 'list-notes', arguments: {} });
    expect(notes.isError).not.toBe(true);
    expect(world.counts().authorizationServer.authorizations).toBe(1);
  });
});
