/**
 * Another program of the same user ends the app by the owner's key and starts a broker that asks nobody, or allows things
 * in a home before the app's first use: it widens nothing.
 */
import { describe, expect, it } from 'vitest';
import { pair } from '../../src/client/pair.ts';
import { openDesk, openHeadless } from '../support/homes/desk-home.ts';
import { homeInBentWorld } from '../support/bent/home.ts';
import { newHome, type TestHome, until } from '../support/home.ts';

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
  ['oauthClient.add', { issuer: 'https://login.invalid', clientId: 'abc' }],
  ['signIn.start', { resource, method: 'paste', timeout: 1 }],
  ['vault.passphrase', { current: 'aPassphrase-1234', next: 'anotherPassphrase-5678' }],
];

describe('a headless broker in a home of the app', () => {
  it('refuses whatever widens, says how to open the app, and asks no question', async () => {
    const home = await closedDesk();
    const { line } = await openHeadless(home);
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

  it('is released by the user in the window alone', async () => {
    const home = await closedDesk();
    const first = await openHeadless(home);
    await expect(first.line.request('home.allowCommand', { isAllowed: true })).rejects.toMatchObject({
      reason: 'method_not_found',
    });
    await first.stop();
    const desk = await openDesk(home);
    await desk.owner.allowCommand(true);
    await desk.stop();
    const { line } = await openHeadless(home);
    await line.request('permission.set', { app: 'cli', resource: other, decision: 'allow' });
    expect(await line.request('settings.get')).toMatchObject({ approver: 'either' });
  });

  it('serves what is allowed, shows, takes away, and can be reset', async () => {
    const { line } = await openHeadless(await closedDesk());
    const fewer = { app: 'cli', resource, decision: 'allow', scope: 'read' };
    await line.request('permission.set', fewer);
    await line.request('permission.revoke', { app: 'cli', resource });
    await line.request('permission.set', { app: 'cli', resource, decision: 'deny' });
    await expect(line.request('permission.revoke', { app: 'cli', resource })).rejects.toMatchObject({
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

  it('registers no client and opens no page if nobody could be asked about the sign-in', async () => {
    const there = await homeInBentWorld({ vault: 'keychain' });
    const desk = await openDesk(there.home);
    await desk.owner.call('permission.set', { app: 'cli', resource: there.url, decision: 'allow' });
    await desk.stop();
    const { line, pages } = await openHeadless(there.home);
    const asking = line.request('token.get', { resource: there.url, interaction: 'allow' });
    await expect(asking).rejects.toMatchObject({ reason: 'not_permitted' });
    expect(there.authorizationServer.counts.registrations).toBe(0);
    expect(pages).toEqual([]);
  });
});

const place = { app: 'cli', resource: 'https://server.invalid/mcp' };
const allow = { ...place, decision: 'allow' };

it.each([
  ['permission.revoke', place],
  ['permission.set', allow],
] as const)(
  'a denial that is stored right after an unlock is not undone by %s of the key',
  async (method, params) => {
    const desk = await openDesk(newHome({ vault: 'keychain' }));
    await desk.owner.call('permission.set', allow);
    await desk.line.request('vault.lock');
    await desk.owner.call('vault.unlock', {});
    const denying = desk.owner.call('permission.set', { ...place, decision: 'deny' });
    const undoing = desk.line.request(method, params);
    undoing.catch(() => undefined);
    // The denial is in effect at once, so the key has to ask.
    await desk.answer((await desk.card()).id, 'deny');
    await expect(undoing).rejects.toMatchObject({ reason: 'consent_denied' });
    await denying;
    expect(await desk.permissions()).toMatchObject([{ resource: place.resource, decision: 'deny' }]);
  },
);

const asked = { resource, interaction: 'never', timeout: 1 };

async function usedWithoutApp(): Promise<TestHome> {
  const home = newHome({ vault: 'keychain' });
  const { line, stop } = await openHeadless(home);
  for (const [method, params] of [
    ['permission.set', { app: 'cli', resource, decision: 'allow', scope: 'read' }],
    ['permission.set', { app: 'cli', resource: 'https://denied.invalid/mcp', decision: 'deny' }],
    ['exception.set', { server: resource, name: 'no-resource', on: true }],
    ['oauthClient.add', { issuer: 'https://login.invalid', clientId: 'abc', clientSecret: 'hush' }],
    ['apiKey.set', { resource: 'https://keys.invalid/mcp', header: 'X-Key', value: 'k', unchecked: true }],
  ] as const)
    await line.request(method, params);
  await stop();
  return home;
}

const shown = [
  { what: 'apiKeys', count: 1, lines: ['https://keys.invalid/mcp'] },
  { what: 'permissions', count: 1, lines: [`cli: ${resource}`] },
  { what: 'exceptions', count: 1, lines: [`${resource}: no-resource`] },
  { what: 'oauthClients', count: 1, lines: ['"abc" at https://login.invalid'] },
];

it('shows all of it on a card at each start, and serves nothing until it is answered', async () => {
  const home = await usedWithoutApp();
  for (let start = 0; start < 2; start += 1) {
    const { line, card, answer, stop } = await openDesk(home, { leaves: true });
    await expect(line.request('token.get', asked)).rejects.toMatchObject({ reason: 'consent_pending' });
    const { id, kind, allowed } = await card();
    expect([kind, allowed]).toEqual(['settings', shown]);
    await expect(line.request('request.answer', { id, answer: 'deny' })).rejects.toMatchObject({
      reason: 'not_permitted',
    });
    await answer(id, 'dismiss');
    await stop();
  }
});

it('grants nothing more to a command or the window before its card is answered', async () => {
  const home = await usedWithoutApp();
  const { owner, line, card, cards } = await openDesk(home, { leaves: true });
  await expect(line.request('token.get', asked)).rejects.toMatchObject({ reason: 'consent_pending' });
  const first = await card();
  const key = { resource, header: 'X-Key', value: 'k', unchecked: true };
  for (const [method, params] of [
    ['apiKey.set', key],
    ['oauthClient.add', { issuer: 'https://other.invalid', clientId: 'abc', clientSecret: 'hush' }],
    ['permission.set', { app: 'cli', resource, decision: 'allow', scope: 'write' }],
    ['exception.set', { server: resource, name: 'private-address', on: true }],
    ['proxy.add', { resource }],
    ['signIn.start', { resource }],
    ['backup.open', { sealedKey: 'A'.repeat(80) }],
  ] as const) {
    await expect(owner.call(method, params), method).rejects.toMatchObject({ reason: 'consent_pending' });
    await expect(line.request(method, params), method).rejects.toMatchObject({ reason: 'consent_pending' });
  }
  const pairing = pair({ env: home.env, name: 'another', onCode: () => undefined });
  await expect(pairing).rejects.toMatchObject({ reason: 'consent_pending' });
  await expect(owner.allowCommand(true)).rejects.toMatchObject({ reason: 'consent_pending' });
  expect(await cards()).toEqual([first]);
  // What takes away is taken at once.
  await owner.call('permission.set', { app: 'cli', resource, decision: 'deny' });
});

it.each(['deny', 'approve'] as const)(
  'removes all of it, or keeps it, as its answer (%s) says',
  async (said) => {
    const home = await usedWithoutApp();
    const { line, owner, card, cards, answer, permissions, stop } = await openDesk(home, { leaves: true });
    await expect(line.request('token.get', asked)).rejects.toMatchObject({ reason: 'consent_pending' });
    await answer((await card()).id, said);
    await until('it is answered', async () => (await cards()).length === 0);
    await expect(line.request('token.get', asked)).rejects.not.toMatchObject({ reason: 'consent_pending' });
    const decisions = (await permissions()).map(({ decision }) => decision);
    expect(decisions).toEqual(said === 'deny' ? ['deny'] : ['allow', 'deny']);
    const left = said === 'deny' ? 0 : 1;
    expect(await owner.call('apiKey.list', {})).toMatchObject({ apiKeys: { length: left } });
    expect(await owner.call('oauthClient.list', {})).toMatchObject({ oauthClients: { length: left } });
    await stop();
    // Answered once: the next start asks nothing, and no broker without the app gives more.
    const again = await openDesk(home, { leaves: true });
    await again.line.request('permission.set', { app: 'cli', resource, decision: 'deny' });
    expect(await again.cards()).toEqual([]);
    await again.stop();
    const { line: closed } = await openHeadless(home);
    const more = closed.request('permission.set', { app: 'cli', resource, decision: 'allow' });
    await expect(more).rejects.toMatchObject({ reason: 'not_permitted' });
  },
);
