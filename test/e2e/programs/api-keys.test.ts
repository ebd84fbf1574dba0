/** API keys with a server that takes one, and with programs. What commands show of them is in test/cli/api-keys.txt. */
import { describe, expect, it } from 'vitest';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { library, pairedProgram } from '../../support/processes/program.ts';
import { keyturnInTerminal } from '../../support/processes/terminal.ts';
import { newKey, openKeyServer } from '../../support/servers/key-server.ts';

const { createFetch } = await library();

const kinds = ['token', 'apiKey'] as const;

/** A server that takes a key in X-Api-Key, the key set, and a program that may have it. */
async function allowedScene() {
  const { home, world } = await homeInBentWorld();
  await owner.startBroker(home);
  const key = newKey();
  const server = await openKeyServer(world, { header: 'x-api-key', value: key });
  const { url: resource } = server;
  const set = (value: string) => askBroker(home, 'apiKey.set', { resource, header: 'X-Api-Key', value });
  await set(key);
  const program = await pairedProgram(home, 'editor');
  const allow = () =>
    askBroker(home, 'apiKey.permission.set', { app: 'editor', resource, decision: 'allow' });
  await allow();
  const fetch = createFetch(program, { resource, kinds, fetch: world.fetch });
  const listed = async () => (await askBroker(home, 'apiKey.list', {})).apiKeys;
  return { home, key, server, resource, set, program, allow, fetch, listed };
}

it('a permission for a key ends when its app gives it up, and with the app', async () => {
  const { home, resource, program, allow, listed } = await allowedScene();
  const release = (more: object = {}) => program.request('permission.release', { resource, ...more });
  await expect(release()).rejects.toMatchObject({ reason: 'not_found' });
  expect(await listed()).toMatchObject([{ apps: ['editor'] }]);
  await release({ kinds });
  expect(await listed()).toMatchObject([{ apps: [] }]);
  await allow();
  await askBroker(home, 'app.remove', { app: 'editor' });
  expect(await listed()).toMatchObject([{ resource, apps: [] }]);
  const again = await pairedProgram(home, 'editor');
  await expect(again.getCredential({ resource, kinds })).rejects.toMatchObject({
    reason: 'consent_required',
  });
});

it('a server that refuses the key is not sent it again, and the list shows it', async () => {
  const { home, server, fetch, resource, key, set, program, listed } = await allowedScene();
  expect((await fetch(resource)).status).toBe(200);
  server.expected = 'another';
  await expect(fetch(resource)).rejects.toMatchObject({ reason: 'api_key_rejected' });
  expect(server.server.holding(key)).toHaveLength(2);
  expect(await listed()).toMatchObject([{ rejectedAt: expect.any(Number) as number }]);
  expect(await home.ok(['sign-in', 'list'])).toContain('rejected by the server');
  expect(await home.ok(['sign-in', 'show', resource])).toMatch(
    /rejected +The server[^]*apiKey +rejected by the server +editor/,
  );
  const challenge = { status: 401 } as const;
  await expect(program.getCredential({ resource, kinds, challenge })).rejects.toMatchObject({
    reason: 'api_key_rejected',
  });
  server.expected = newKey();
  await set(server.expected);
  expect((await fetch(resource)).status).toBe(200);
  expect((await listed())[0]).not.toHaveProperty('rejectedAt');
});

describe('connect at a terminal', () => {
  const connecting = async () => {
    const { home, world } = await homeInBentWorld();
    await owner.startBroker(home);
    const { url } = await openKeyServer(world, { header: 'x-api-key', value: newKey() });
    const setKey = async () =>
      askBroker(home, 'apiKey.set', { resource: url, header: 'X-Api-Key', value: newKey() });
    const connect = (to: string) => keyturnInTerminal(home, 'connect', to, '--as', 'one');
    return { home, url, setKey, connect };
  };

  it('names the key that goes to a URL with a query', async () => {
    const { url, setKey, connect } = await connecting();
    await setKey();
    const asking = connect(`${url}?team=a`);
    await asking.shows(/may "one" be paired, and have your API key for [^]*\[y\/N\] /);
    asking.type('y\n');
    await asking.shows(/one may reach/);
    await asking.ended;
  });

  it('asks again for a key that was set after the first answer was asked for', async () => {
    const { home, url, setKey, connect } = await connecting();
    const asking = connect(url);
    await asking.shows(/may "one" be paired, and reach [^]*\[y\/N\] /);
    await setKey();
    asking.type('y\n');
    await asking.shows(/may "one" have your API key for [^]*\[y\/N\] /);
    asking.type('n\n');
    await asking.ended;
    expect((await askBroker(home, 'apiKey.list', {})).apiKeys).toMatchObject([{ apps: [] }]);
  });
});
