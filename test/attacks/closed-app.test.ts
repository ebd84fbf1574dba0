/**
 * Another program of the same user ends the app by the owner's key and starts a broker that asks nobody, or asks for what
 * needs no yes while the person decides: it widens nothing.
 */
import { describe, expect, it } from 'vitest';
import { pair } from '../../src/client/pair.ts';
import { openDesk, openHeadless } from '../support/homes/desk-home.ts';
import { newHome, type TestHome } from '../support/home.ts';

const resource = 'https://server.invalid/mcp';
const other = 'https://other.invalid/mcp';

/** Ended by the owner's key, as `keyturn broker stop` does it. */
async function closedDesk(): Promise<TestHome> {
  const home = newHome({ vault: 'keychain' });
  const { owner, line, stop } = await openDesk(home);
  await owner.call('permission.set', { app: 'cli', resource, decision: 'allow', scope: 'read write' });
  await owner.call('settings.set', { name: 'lockAfter', value: 600 });
  await line.request('broker.stop');
  await stop();
  return home;
}

const widening: readonly (readonly [method: string, params: object])[] = [
  ['permission.set', { app: 'cli', resource: other, decision: 'allow' }],
  ['exception.set', { server: resource, name: 'no-resource', on: true }],
  ['settings.set', { name: 'httpsProxy', value: 'http://proxy.invalid:3128' }],
  ['settings.set', { name: 'lockAfter', value: null }],
  ['oauthClient.set', { issuer: 'https://login.invalid', clientId: 'abc' }],
  ['signIn.start', { resource, method: 'paste', timeout: 1 }],
  ['vault.passphrase', { current: 'aPassphrase-1234', next: 'anotherPassphrase-5678' }],
];

describe('a headless broker in a home of the app', () => {
  it('refuses whatever widens, and says how to open the app', async () => {
    const { line } = await openHeadless(await closedDesk());
    for (const [method, params] of widening) {
      const refused = await line.request(method, params).then(
        () => ({ reason: 'none' }),
        (error: object) => error,
      );
      expect(refused, `${method} ${JSON.stringify(params)}`).toMatchObject({
        reason: 'not_permitted',
        message: expect.stringContaining('app isn’t running'),
        hint: expect.stringMatching(/^Start the app.*KEYTURN_HOME.*keyturn reset/),
      });
    }
    expect(await line.request('settings.get')).not.toHaveProperty('settings.httpsProxy');
  });

  it('is released by the person in the window alone', async () => {
    const home = await closedDesk();
    const first = await openHeadless(home);
    await expect(first.line.request('home.release', { isReleased: true })).rejects.toMatchObject({
      reason: 'method_not_found',
    });
    await first.stop();
    const desk = await openDesk(home);
    await desk.owner.release(true);
    await desk.stop();
    const { line } = await openHeadless(home);
    await line.request('permission.set', { app: 'cli', resource: other, decision: 'allow' });
    expect(await line.request('settings.get')).toMatchObject({ keyturnApp: 'released' });
  });

  it('serves what is allowed, shows, takes away, and can be reset', async () => {
    const { line } = await openHeadless(await closedDesk());
    const fewer = { app: 'cli', resource, decision: 'allow', scope: 'read' };
    await line.request('permission.set', fewer);
    await line.request('permission.end', { app: 'cli', resource });
    await line.request('permission.set', { app: 'cli', resource, decision: 'deny' });
    await expect(line.request('permission.end', { app: 'cli', resource })).rejects.toMatchObject({
      reason: 'not_permitted',
    });
    await line.request('exception.set', { server: resource, name: 'no-resource', on: false });
    await line.request('settings.set', { name: 'logLevel', value: 'debug' });
    await line.request('settings.set', { name: 'lockAfter', value: 300 });
    await line.request('vault.lock');
    await line.request('vault.unlock');
    await line.request('signIn.list');
    expect(await line.request('home.reset')).toMatchObject({ revoked: [] });
  });

  it('pairs nobody, and asks no question that a key could answer', async () => {
    const home = await closedDesk();
    const { line } = await openHeadless(home);
    const pairing = pair({ name: 'evil', env: home.env, onCode: () => undefined });
    await expect(pairing).rejects.toMatchObject({ reason: expect.stringMatching(/not_permitted|denied/) });
    const asking = line.request('token.get', { resource: other, interaction: 'allow', timeout: 2 });
    await expect(asking).rejects.toMatchObject({ reason: 'not_permitted' });
    const signingIn = line.request('token.get', { resource, interaction: 'allow', timeout: 2 });
    // Nothing leaves for a page either: the server can't be found here, and no sign-in is asked for.
    await expect(signingIn).rejects.toMatchObject({
      reason: expect.stringMatching(/unreachable|not_permitted/),
    });
    expect(await line.request('request.list')).toEqual({ requests: [] });
  });
});

const place = { app: 'cli', resource: 'https://server.invalid/mcp' };
const allow = { ...place, decision: 'allow' };

describe('what the person denies right after an unlock, while it is stored', () => {
  it.each([
    ['permission.end', place],
    ['permission.set', allow],
  ] as const)('is not undone by %s of the key', async (method, params) => {
    const desk = await openDesk(newHome({ vault: 'keychain' }));
    await desk.owner.call('permission.set', allow);
    await desk.line.request('vault.lock');
    await desk.owner.call('vault.unlock', {});
    const denying = desk.owner.call('permission.set', { ...place, decision: 'deny' });
    const undoing = desk.line.request(method, params);
    undoing.catch(() => undefined);
    // The denial is in effect at once, so the key has to ask.
    await desk.answer((await desk.card()).id, 'no');
    await expect(undoing).rejects.toMatchObject({ reason: 'consent_denied' });
    await denying;
    expect(await desk.permissions()).toEqual([{ resource: place.resource, decision: 'deny' }]);
  });
});
