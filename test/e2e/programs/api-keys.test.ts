/** API keys, for servers that take a static key in place of a sign-in: from `keyturn api-key set` to the request that carries one. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/client/index.ts';
import { homeInBentWorld, openSharedHome, type SharedHome } from '../../support/bent/home.ts';
import { type TestHome, until } from '../../support/home.ts';
import { askBroker, questionOf } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { library, pairedProgram } from '../../support/processes/program.ts';
import { newKey, openKeyServer } from '../../support/servers/key-server.ts';

const { createFetch } = await library();

/** One home and one broker for the tests of this file, but for two at its end. Each test has servers and programs of its own. */
let shared: SharedHome;
beforeAll(async () => {
  shared = await openSharedHome();
});
afterAll(() => shared.close());

/** A server that takes a key in X-Api-Key. The broker trusts it. */
async function keyScene() {
  const key = newKey();
  const server = await openKeyServer(shared.world, { header: 'x-api-key', value: key });
  return { home: shared.home, key, server, url: server.url };
}

/** The same with the key set, as a program finds it. */
async function setScene() {
  const scene = await keyScene();
  const { home, key, url } = scene;
  await askBroker(home, 'apiKey.set', { resource: url, header: 'X-Api-Key', value: key });
  return scene;
}

const setKey = (home: TestHome, url: string, key: string, ...more: string[]) =>
  home.keyturn(['api-key', 'set', url, '--header', 'X-Api-Key', '--api-key-stdin', ...more], {
    stdin: `${key}\n`,
  });

const allowKey = (client: string, resource: string) =>
  askBroker(shared.home, 'apiKey.permission.set', { app: client, resource, decision: 'allow' });

/** What the broker lists of the keys at this server: one, or none. */
async function listed(resource: string) {
  const { apiKeys: keys } = await askBroker(shared.home, 'apiKey.list', {});
  return keys.filter((key) => key.resource === resource);
}

let pairedSoFar = 0;

/** A program of the test's own. */
async function newProgram() {
  const name = `editor${(pairedSoFar += 1)}`;
  return { name, program: await pairedProgram(shared.home, name) };
}

/** A scene with the key set, and a program that may have it. */
async function allowedScene() {
  const scene = { ...(await setScene()), ...(await newProgram()) };
  const { name, program, url } = scene;
  await allowKey(name, url);
  return { ...scene, fetch: createFetch(program, { resource: url, kinds, fetch: shared.world.fetch }) };
}

const kinds = ['token', 'apiKey'] as const;

/** The broker gives this program no credential, for this reason. */
const refusesKey = async (program: Connection, resource: string, reason: string) =>
  expect(program.getCredential({ resource, kinds })).rejects.toMatchObject({ reason });

const card = async () => questionOf(shared.home, 'allow');

describe('an API key', () => {
  it('reaches its server in its header, and the audit log names the app', async () => {
    const { home, key, server, url } = await keyScene();
    expect(await setKey(home, url, key)).toMatchObject({ code: 0, stdout: '', stderr: '' });
    const { name, program } = await newProgram();
    await expect(program.getCredential({ resource: url, kinds })).rejects.toMatchObject({
      reason: 'consent_required',
      hint: expect.stringContaining(`keyturn app allow ${name} ${url} --api-key`) as string,
    });
    await home.ok(['app', 'allow', name, url, '--api-key']);
    const fetch = createFetch(program, { resource: url, kinds, fetch: shared.world.fetch });
    expect(await (await fetch(url, { method: 'POST', body: '{}' })).text()).toBe('served');
    expect(server.served).toHaveLength(1);
    expect(await home.json('api-key', 'list')).toEqual([
      { resource: url, header: 'X-Api-Key', setAt: expect.any(Number) as number, apps: [name] },
    ]);
    expect(await home.ok(['sign-in', 'list'])).toContain('X-Api-Key: …');
    expect(await home.ok(['app', 'list'])).toContain('API key, X-Api-Key: …');
    expect(await home.ok(['status'])).toContain('API keys   1');
    const rows = await until('the row of the key that was given', async () => {
      const all = (await askBroker(home, 'audit.tail', { count: 100 })).rows;
      return all.some(({ outcome }) => outcome === 'given') ? all : undefined;
    });
    expect(rows.filter(({ outcome }) => /^(set|given|key: .*)$/.test(outcome ?? ''))).toMatchObject([
      { event: 'apiKey', outcome: 'set', endpoint: url },
      { event: 'refused', outcome: 'key: consent_required', app: name, endpoint: url },
      { event: 'permission', outcome: 'key: allow', app: name, endpoint: url },
      { event: 'apiKey', outcome: 'given', app: name, endpoint: url },
    ]);
    // The first test of the home, so that its lists show this key alone.
    await askBroker(home, 'apiKey.remove', { resource: url });
  });

  it('is given after a yes to a card that names the key and its header', async () => {
    const { home, key, url } = await setScene();
    const { name, program } = await newProgram();
    const asked = program.getCredential({ resource: url, kinds, interaction: 'allow' });
    const question = await card();
    expect(question).toMatchObject({ app: name, resource: url, apiKey: { header: 'X-Api-Key' } });
    expect(await home.ok(['request', 'list'])).toContain(
      `May ${name} have your API key for ${url} (X-Api-Key: …)?`,
    );
    await owner.answer(home, question.id, 'yes');
    expect(await asked).toMatchObject({ kind: 'apiKey', value: key });
  });
});

describe('a permission', () => {
  it('for tokens gives no key, and one for the key gives no token', async () => {
    const { home, url: resource } = await homeInBentWorld({ shared });
    const key = newKey();
    const reader = await newProgram();
    await owner.allow(home, reader.name, resource);
    await owner.signIn(home, resource);
    await askBroker(home, 'apiKey.set', { resource, header: 'X-Api-Key', value: key, unchecked: true });
    for (const wanted of [kinds, ['apiKey']] as const)
      await expect(reader.program.getCredential({ resource, kinds: wanted })).rejects.toMatchObject({
        reason: 'consent_required',
      });
    expect(await reader.program.getToken({ resource })).toMatchObject({ resource, token_type: 'Bearer' });
    const keeper = await newProgram();
    await allowKey(keeper.name, resource);
    await expect(keeper.program.getToken({ resource })).rejects.toMatchObject({ reason: 'consent_required' });
    expect(await keeper.program.getCredential({ resource, kinds })).toMatchObject({
      kind: 'apiKey',
      value: key,
    });
    await home.ok(['app', 'revoke', keeper.name, resource, '--api-key']);
    expect((await home.keyturn(['app', 'revoke', keeper.name, resource])).code).toBe(2);
    await refusesKey(keeper.program, resource, 'consent_required');
    expect(await reader.program.getToken({ resource })).toMatchObject({ resource });
  });

  it('stays with a new value of its key, and ends with another header', async () => {
    const { home, name, program, url } = await allowedScene();
    const next = newKey();
    expect((await setKey(home, url, next)).stderr).toContain('get this one from now on');
    expect(await program.getCredential({ resource: url, kinds })).toMatchObject({ value: next });
    const other = await home.keyturn(['api-key', 'set', url, '--header', 'X-Other', '--api-key-stdin'], {
      stdin: next,
    });
    expect(other).toMatchObject({ code: 0 });
    expect(other.stderr).toContain('the permissions for it have ended');
    await refusesKey(program, url, 'consent_required');
    await allowKey(name, url);
    await home.ok(['api-key', 'remove', url]);
    expect(await listed(url)).toEqual([]);
    const { apps: clients } = await askBroker(home, 'app.list', {});
    expect(clients.find((client) => client.name === name)?.permissions).toEqual([]);
    await askBroker(home, 'apiKey.set', { resource: url, header: 'X-Api-Key', value: next });
    await refusesKey(program, url, 'consent_required');
  });

  it('ends when its app gives it up, and when the app is removed', async () => {
    const { home, name, url, program } = await allowedScene();
    const release = (more: object = {}) => program.request('permission.release', { resource: url, ...more });
    await expect(release()).rejects.toMatchObject({ reason: 'not_found' });
    expect(await listed(url)).toMatchObject([{ apps: [name] }]);
    await release({ kinds });
    expect(await listed(url)).toMatchObject([{ apps: [] }]);
    await expect(release({ kinds: ['apiKey'] })).rejects.toMatchObject({ reason: 'not_found' });
    await allowKey(name, url);
    await askBroker(home, 'app.remove', { app: name });
    expect(await listed(url)).toMatchObject([{ resource: url, apps: [] }]);
    const again = await pairedProgram(home, name);
    await refusesKey(again, url, 'consent_required');
  });
});

describe('a server', () => {
  it('that offers a sign-in gets no key, unless nobody is to look', async () => {
    const { home, url: resource } = await homeInBentWorld({ shared });
    const key = newKey();
    const refused = await setKey(home, resource, key);
    expect(refused).toMatchObject({ code: 5, stdout: '' });
    expect(refused.stderr).toMatch(/offers a sign-in[^]*--unchecked[^]*reason: oauth_offered/);
    expect(await listed(resource)).toEqual([]);
    expect(await setKey(home, resource, key, '--unchecked')).toMatchObject({ code: 0 });
    expect(await listed(resource)).toMatchObject([{ resource, unchecked: true }]);
    expect(await home.ok(['api-key', 'list'])).toContain('server not asked about a sign-in');
  });

  it('that refuses the key is not sent it again, and the list shows it', async () => {
    const { home, name, server, fetch, url, key, program } = await allowedScene();
    server.expected = 'another';
    await expect(fetch(url)).rejects.toMatchObject({
      reason: 'key_refused',
      message: `${url} refused the API key.`,
    });
    expect(server.server.holding(key)).toHaveLength(1);
    expect(await listed(url)).toMatchObject([{ refusedAt: expect.any(Number) as number }]);
    expect(await home.ok(['sign-in', 'list'])).toContain('refused by the server');
    expect(await home.ok(['sign-in', 'show', url])).toMatch(
      new RegExp(
        `API key +https[^]*goes in +X-Api-Key: …[^]*apps +${name}[^]*refused +The server[^]*apiKey +refused by the server +${name}`,
      ),
    );
    expect(await home.json('sign-in', 'show', url)).toEqual([
      {
        apiKey: {
          resource: url,
          header: 'X-Api-Key',
          setAt: expect.any(Number) as number,
          refusedAt: expect.any(Number) as number,
          apps: [name],
        },
        timeline: expect.arrayContaining([
          { at: expect.any(Number) as number, event: 'apiKey', outcome: 'set' },
          {
            at: expect.any(Number) as number,
            event: 'apiKey',
            outcome: 'refused by the server',
            app: name,
          },
        ]) as unknown,
      },
    ]);
    const challenge = { status: 401 } as const;
    await expect(program.getCredential({ resource: url, kinds, challenge })).rejects.toMatchObject({
      reason: 'key_refused',
    });
    const next = newKey();
    server.expected = next;
    await askBroker(home, 'apiKey.set', { resource: url, header: 'X-Api-Key', value: next });
    expect((await fetch(url)).status).toBe(200);
    expect((await listed(url))[0]).not.toHaveProperty('refusedAt');
  });
});

describe('`keyturn api-key`', () => {
  it('refuses a header that does more than authorize, and no key', async () => {
    const { home, server, url, key } = await keyScene();
    const refused = async (place: { readonly header: string; readonly value: string }) => {
      const params = { resource: url, ...place };
      await expect(askBroker(home, 'apiKey.set', params), JSON.stringify(place)).rejects.toMatchObject({
        reason: 'invalid_request',
      });
    };
    const headers =
      'Host|cookie|Content-Type|Mcp-Session-Id|MCP-Protocol-Version|Connection|Transfer-Encoding|' +
      'Proxy-Authorization|Origin|X-Forwarded-For|X-HTTP-Method-Override|Accept|Last-Event-ID|no header|X-Key:';
    for (const header of headers.split('|')) await refused({ header, value: key });
    const noKeys = ['', '\n', `Bearer ${key}`, `${key}\n${key}`, `X-Api-Key: ${key}`, `${key}é`];
    for (const value of [...noKeys, 'k'.repeat(9000)]) await refused({ header: 'Authorization', value });
    // What the broker refuses, and what the command itself does.
    for (const header of ['Host', 'no header']) {
      const run = await home.keyturn(['api-key', 'set', url, '--header', header, '--api-key-stdin'], {
        stdin: key,
      });
      expect(run, header).toMatchObject({ code: 2, stdout: '' });
    }
    for (const text of ['\n', `Bearer ${key}`, `${key}\n${key}\n`]) {
      const run = await home.keyturn(['api-key', 'set', url, '--api-key-stdin'], { stdin: text });
      expect(run, text.slice(0, 8)).toMatchObject({ code: 2, stdout: '' });
      expect(run.stderr).toContain('What was given is no API key.');
    }
    const { stderr } = await home.keyturn(['api-key', 'set', url]);
    expect(stderr).toContain('Give it on standard input with --api-key-stdin.');
    expect(server.server.requests).toEqual([]);
    expect(await listed(url)).toEqual([]);
  });

  it('is the owner’s: no app sets, lists, removes or allows a key', async () => {
    const { name, program, url } = await allowedScene();
    for (const method of [
      'apiKey.set',
      'apiKey.list',
      'apiKey.remove',
      'apiKey.permission.set',
      'apiKey.permission.end',
    ]) {
      await expect(program.request(method, { resource: url }), method).rejects.toMatchObject({
        reason: 'not_permitted',
      });
    }
    expect(await listed(url)).toMatchObject([{ apps: [name] }]);
  });
});

describe('the vault', () => {
  it('keeps a key over restarts, gives none while locked, has none after a reset', async () => {
    const { home, world: its } = await homeInBentWorld({ env: { KEYTURN_VAULT: 'sealed-file' } });
    const passphrase = 'correct horse battery';
    const keys = async () => (await askBroker(home, 'apiKey.list', {})).apiKeys;
    await owner.startBroker(home);
    await owner.unlock(home, passphrase);
    const key = newKey();
    const server = await openKeyServer(its, { header: 'x-api-key', value: key });
    const { url } = server;
    await askBroker(home, 'apiKey.set', { resource: url, header: 'X-Api-Key', value: key });
    const program = await pairedProgram(home, 'editor');
    await askBroker(home, 'apiKey.permission.set', { app: 'editor', resource: url, decision: 'allow' });
    expect(await program.getCredential({ resource: url, kinds })).toMatchObject({ value: key });
    await askBroker(home, 'vault.lock', {});
    await refusesKey(program, url, 'locked');
    await owner.stopBroker(home);
    await owner.startBroker(home);
    expect(await keys()).toMatchObject([{ resource: url, apps: ['editor'] }]);
    await owner.unlock(home, passphrase);
    const fetch = createFetch(program, { resource: url, kinds, fetch: its.fetch });
    expect((await fetch(url)).status).toBe(200);
    const file = readFileSync(path.join(home.paths.state, 'authority.json'), 'utf8');
    expect(file).toContain(url);
    expect(file).not.toContain(key);

    const other = { resource: `${url}/other`, header: 'X-Api-Key', value: newKey() };
    await askBroker(home, 'apiKey.set', { ...other, unchecked: true });
    await askBroker(home, 'vault.lock', {});
    await home.ok(['api-key', 'remove', url]);
    await owner.stopBroker(home);
    await owner.startBroker(home);
    await owner.unlock(home, passphrase);
    expect((await keys()).map(({ resource }) => resource)).toEqual([other.resource]);
    await refusesKey(program, url, 'consent_required');
    await home.ok(['reset', '--yes']);
    expect(await home.json('api-key', 'list')).toEqual([]);
  });
});
