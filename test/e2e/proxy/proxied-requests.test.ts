/** What a proxy does with requests and answers: what passes, what doesn't, and what ends with a permission. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { homeInBentWorld, openSharedHome } from '../../support/bent/home.ts';
import { homeInWorld, until } from '../../support/home.ts';
import { childrenOf, pids, processFacts } from '../../support/processes/process-table.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { openKeyServer } from '../../support/servers/key-server.ts';
import { allowedProxy, answering, call, nextCard, otherProgram, proxied, refusalOf } from './proxy-rig.ts';
import { ofFile } from '../../support/lasting.ts';

type Allowed = Awaited<ReturnType<typeof allowedProxy>>;

const inMcp = { 'mcp-session-id': 's-1', 'mcp-protocol-version': '2025-11-25', 'x-own': 'kept' };

const shared = ofFile(async () => openSharedHome());

describe('a request by a proxy', () => {
  it('H-2 H-4: has the broker’s token, and no credentials of the client', async () => {
    const { protectedServer, proxy } = await allowedProxy({ shared });
    const credentials = {
      authorization: 'Bearer of-the-client',
      cookie: 'a=b',
      'x-forwarded-for': '9.9.9.9',
    };
    expect((await call(`${proxy.url}?q=1`, { ...inMcp, ...credentials })).status).toBe(200);
    const { headers, query } = protectedServer.server.requests.at(-1) ?? {};
    expect(headers).toMatchObject(inMcp);
    expect(headers?.authorization).toMatch(/^Bearer (?!of-the-client)./);
    expect(headers).not.toHaveProperty('cookie');
    expect(headers).not.toHaveProperty('x-forwarded-for');
    expect(headers?.host).toBe(new URL(protectedServer.url).host);
    expect(query?.get('q')).toBe('1');
  });

  it('H-5: is sent again with a new token, a bounded number of times', async () => {
    const { protectedServer, proxy } = await allowedProxy({ shared });
    protectedServer.next({ status: 401, error: 'invalid_token' });
    expect((await call(proxy.url)).status).toBe(200);
    const before = protectedServer.visits.length;
    protectedServer.always({ status: 401, error: 'invalid_token' });
    const answer = await call(proxy.url);
    expect(answer.headers.get('www-authenticate')).toBeNull();
    expect(await answer.clone().text()).toContain(`keyturn sign-in show ${protectedServer.url}`);
    expect(await refusalOf(answer)).toEqual({ status: 502, id: 7, reason: 'token_rejected' });
    const tries = protectedServer.visits.slice(before).filter(({ authorization }) => authorization);
    expect(tries).toHaveLength(3);
  });

  it('H-6: asks the user for more if the server wants more scopes', async () => {
    const { home, protectedServer, proxy } = await allowedProxy({ shared });
    protectedServer.bend.neededScopes = () => ['read', 'write'];
    const { card, got } = await answering(home, call(proxy.url), 'approve');
    expect(card).toMatchObject({ kind: 'allow', app: proxy.name });
    expect(got.status).toBe(200);
  });

  it('H-2: has the API key instead of the client’s own header', async () => {
    const { home, world } = await homeInBentWorld({ shared });
    const key = `ak_${randomBytes(18).toString('base64url')}`;
    const server = await openKeyServer(world, { header: 'x-api-key', value: key });
    await askBroker(home, 'apiKey.set', { resource: server.url, header: 'X-Api-Key', value: key });
    const { proxy } = await askBroker(home, 'proxy.add', { resource: server.url, name: 'tickets' });
    const { got } = await answering(home, call(proxy.url, { 'x-api-key': 'of-the-client' }), 'approve');
    expect(await got.text()).toBe('served');
    expect(server.served).toHaveLength(1);
  });

  it('H-1: follows no redirect out of what was approved', async () => {
    const { protectedServer, proxy, world } = await allowedProxy({ shared });
    const elsewhere = `${world.authorizationServer.server.base}/mcp`;
    protectedServer.bend.answer = () => ({ status: 307, headers: { location: elsewhere } });
    const answer = await call(proxy.url);
    expect(await refusalOf(answer)).toEqual({ status: 502, id: 7, reason: 'resource_mismatch' });
    expect(answer.headers.get('location')).toBeNull();
    expect(world.authorizationServer.server.asked('/mcp')).toEqual([]);
  });

  it('H-13: is refused while the vault is locked, with what to do', async () => {
    const { home, proxy } = await allowedProxy({ vault: 'keychain' });
    await askBroker(home, 'vault.lock', {});
    expect(await refusalOf(await call(proxy.url))).toEqual({ status: 503, id: 7, reason: 'locked' });
  });
});

describe('a stream by a proxy', () => {
  /** Two events; the second comes once it is released. */
  async function streaming() {
    const there = await proxied({ shared });
    const second = Promise.withResolvers<void>();
    there.protectedServer.bend.answer = (answer, { status }) => {
      if (status !== 200) return answer;
      return {
        headers: { 'content-type': 'text/event-stream' },
        async *body() {
          yield 'data: one\n\n';
          await second.promise;
          yield 'data: two\n\n';
        },
      };
    };
    const calling = call(there.proxy.url, { accept: 'text/event-stream' });
    const { card, got } = await answering(there.home, calling, 'approve');
    const reader = got.body?.pipeThrough(new TextDecoderStream()).getReader();
    return { ...there, client: card.app, second, next: async () => (await reader?.read())?.value };
  }

  it('H-14: arrives event by event', async () => {
    const { second, next } = await streaming();
    expect(await next()).toBe('data: one\n\n');
    second.resolve();
    expect(await next()).toBe('data: two\n\n');
  });

  it.each<[string, (there: Allowed) => Promise<unknown>]>([
    ['denied', ({ home, client, url }) => owner.deny(home, client, url)],
    ['without its proxy', ({ home, proxy: { name } }) => askBroker(home, 'proxy.remove', { proxy: name })],
  ])('H-15: ends the moment its app is %s', async (_how, end) => {
    const { next, second, ...there } = await streaming();
    expect(await next()).toBe('data: one\n\n');
    await end(there);
    await expect(next()).rejects.toThrow();
    second.resolve();
  });
});

/** A server of that transport, whose first event names the address for messages. */
async function olderServer() {
  const there = await allowedProxy({ shared });
  const { protectedServer } = there;
  const posted: (string | undefined)[] = [];
  const queue: string[] = [`event: endpoint\ndata: ${protectedServer.server.base}/messages?session=7\n\n`];
  let wake = Promise.withResolvers<void>();
  const say = (text: string): void => {
    queue.push(text);
    wake.resolve();
  };
  onTestFinished(() => say(''));
  protectedServer.bend.answer = (answer, { status }, { method }) => {
    if (method !== 'GET' || status !== 200) return answer;
    return {
      headers: { 'content-type': 'text/event-stream' },
      async *body() {
        for (let text = queue.shift(); text !== ''; text = queue.shift()) {
          if (text === undefined) {
            wake = Promise.withResolvers();
            await wake.promise;
          } else yield text;
        }
      },
    };
  };
  protectedServer.server.on('POST', '/messages', ({ headers, body, url }) => {
    posted.push(`${url.search} ${headers.authorization?.slice(0, 7)}`);
    const { id, method } = JSON.parse(body) as { id?: number; method: string };
    const result =
      method === 'initialize'
        ? { protocolVersion: '2024-11-05', capabilities: {}, serverInfo: { name: 'older', version: '1' } }
        : {};
    if (id !== undefined) say(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
    return { status: 202 };
  });
  return { ...there, posted };
}

it('H-16: a client of the older transport works, and stays on the proxy, though its server names an absolute URL', async () => {
  const { proxy, posted } = await olderServer();
  const client = new Client({ name: 'an-older-client', version: '1.0.0' });
  // oxlint-disable-next-line typescript/no-deprecated
  const transport = new SSEClientTransport(new URL(proxy.url));
  onTestFinished(() => client.close());
  await client.connect(transport);
  expect(await client.ping()).toEqual({});
  expect(posted.length).toBeGreaterThan(2);
  expect(new Set(posted)).toEqual(new Set(['?session=7 Bearer ']));
});

describe('the programs of a proxy', () => {
  it('are stock clients that hold no token, once they are allowed', async () => {
    const { home, world, resource } = await homeInWorld();
    const url = (await home.ok(['proxy', 'add', resource])).trim();
    const client = new Client({ name: 'a-stock-client', version: '1.0.0' });
    onTestFinished(() => client.close());
    const connecting = client.connect(new StreamableHTTPClientTransport(new URL(url)));
    connecting.catch(() => undefined);
    const card = await nextCard(home);
    expect(card).toMatchObject({ kind: 'allow', resource, app: '127.0.0.1', proxied: true });
    expect(await home.ok(['request', 'list'])).toContain('any of your programs that knows it');
    await owner.answer(home, card.id, 'approve');
    await connecting;
    expect(card).not.toHaveProperty('appProcess');
    const notes = await client.callTool({ name: 'list-notes', arguments: {} });
    expect(notes.isError).not.toBe(true);
    expect(world.counts().authorizationServer.authorizations).toBe(1);
  });

  it('H-15: are one app: one question for all that know the address', async () => {
    const { home, proxy } = await proxied({ shared });
    const { card } = await answering(home, call(proxy.url), 'approve');
    expect(card).toMatchObject({ app: proxy.name, proxied: true });
    expect(await otherProgram(proxy.url, 'agent')).toBe('200');
    expect(await owner.nothingIsAsked(home)).toBe(true);
    expect(await home.ok(['proxy', 'list'])).toMatch(
      new RegExp(String.raw`LAST USED\n(.*\n)*${proxy.name} .* \d{4}-\d\d-\d\d \d\d:\d\d`),
    );
    expect(await home.ok(['app', 'list'])).toContain(proxy.name);
  });

  it('H-15: get nothing after a denial, and are not asked about again', async () => {
    const { home, proxy, protectedServer } = await proxied({ shared });
    const { got } = await answering(home, call(proxy.url), 'deny');
    expect(await refusalOf(got)).toEqual({ status: 403, id: 7, reason: 'consent_denied' });
    expect(await refusalOf(await call(proxy.url))).toEqual({ status: 403, id: 7, reason: 'consent_denied' });
    expect(protectedServer.visits).toEqual([]);
    expect(await owner.nothingIsAsked(home)).toBe(true);
  });
});

describe('the address of a proxy', () => {
  it('H-10: is in no log, no argument and no environment', async () => {
    const { home, proxy } = await allowedProxy({ shared });
    const secret = new URL(proxy.url).pathname.split('/')[1] ?? '';
    expect(secret.length).toBeGreaterThanOrEqual(32);
    const { state } = home.paths;
    const logs = readdirSync(state).filter((name) => /\.(log|jsonl)$/.test(name));
    expect(logs.length).toBeGreaterThan(0);
    for (const name of logs) expect(readFileSync(path.join(state, name), 'utf8')).not.toContain(secret);
    for (const pid of pids()) {
      const { argv, environ } = processFacts(pid);
      expect([...argv, ...environ].join('\n')).not.toContain(secret);
    }
  });

  it('is served again after its process was killed', async () => {
    const { home, proxy } = await allowedProxy({ shared });
    const broker = await home.brokerPid();
    const [worker] = workersOf(broker);
    if (worker === undefined) throw new Error('there is no process of the proxies');
    process.kill(worker, 'SIGKILL');
    await until('another process', () => workersOf(broker).some((pid) => pid !== worker));
    await until('the port opens', async () => (await call(proxy.url).catch(() => undefined))?.status === 200);
  });
});

/** The process of the proxies of this broker, and of no other. */
function workersOf(broker: number | undefined): number[] {
  return childrenOf(broker ?? 0).filter((pid) =>
    processFacts(pid).argv.some((word) => word.endsWith('proxy-worker.js')),
  );
}
