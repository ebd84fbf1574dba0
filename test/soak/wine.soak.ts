/**
 * More of the commands under Wine than `npm test` runs there, in one home without a keychain: each command once, and the
 * bridge, the proxy and headers many times.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasWine, WineHome } from '../support/homes/wine-home.ts';
import { toolCall } from '../support/servers/notebook.ts';
import { openWorld } from '../support/world.ts';
import type { TestWorld } from '../support/world.ts';

/** How often each carrier is asked. */
const rounds = 20;

/** Each with the exit code and what its output holds. `URL` is the MCP server. */
const commands: readonly (readonly [words: string, code: number, text: string])[] = [
  ['sign-in list', 0, 'URL'],
  ['sign-in --json', 0, 'URL'],
  ['app', 0, 'an-editor'],
  ['sign-in show URL', 0, 'URL'],
  ['audit log', 0, 'URL'],
  ['settings', 0, 'browser'],
  ['status', 0, 'sealed-file'],
  ['doctor', 9, 'browser'],
  ['proxy list', 0, 'URL'],
  ['setup check', 0, ''],
  ['completion bash', 0, 'keyturn'],
  ['pause', 0, ''],
  ['token URL', 7, 'paused'],
  ['resume', 0, ''],
  ['token URL', 0, ''],
  ['app deny an-editor URL', 0, ''],
  ['app revoke an-editor URL', 0, ''],
  ['app remove an-editor', 0, ''],
  ['api-key list', 0, ''],
  ['forward open URL', 2, ''],
  ['logout URL', 0, 'URL'],
  ['token URL --no-input', 3, 'login_required'],
];

describe.skipIf(!hasWine)('the commands under Wine', () => {
  let world: TestWorld;
  let home: WineHome;
  let proxy: string;

  beforeAll(async () => {
    world = await openWorld();
    home = new WineHome(world);
    await home.open();
    await home.startBroker();
    await home.signIn();
    const { resource } = world.protectedServer;
    const entry = home.start(['connect', resource, '--as', 'an-editor']);
    for (const index of [0, 1]) await home.answer(entry, index);
    await entry.ended;
    proxy = (await home.ok('proxy', 'add', resource)).trim();
    const asked = fetch(proxy, toolCall('list-notes'));
    await home.ok('request', 'approve', await home.waiting());
    await asked;
  });
  afterAll(async () => {
    await home.close();
    await world.close();
  });

  it('the bridge, the proxy and headers go on under Wine, also after all access tokens ended', async () => {
    const { resource } = world.protectedServer;
    for (let round = 0; round < rounds; round += 1) {
      if (round === 0) world.expireAccessTokens();
      const bridged = await home.bridged('list-notes', [resource, '--as', 'an-editor']);
      expect(JSON.stringify(bridged), `bridge, round ${round}`).toContain('alice');
      if (round === 1) world.expireAccessTokens();
      const proxied = await fetch(proxy, toolCall('list-notes'));
      expect(await proxied.text(), `proxy, round ${round}`).toContain('alice');
      expect(await home.ok('headers', resource)).toContain('Bearer');
    }
    expect(world.counts().authorizationServer.signIns).toBe(1);
  });

  it.each(commands)('under Wine `keyturn %s` exits with %i', async (words, code, text) => {
    const { resource } = world.protectedServer;
    const run = await home.keyturn(words.split(' ').map((word) => (word === 'URL' ? resource : word)));
    expect(run.code, run.stderr).toBe(code);
    expect(run.stdout + run.stderr).toContain(text === 'URL' ? resource : text);
  });
});
