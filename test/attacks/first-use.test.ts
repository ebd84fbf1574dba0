/** Another program allows things in a home before the app's first use: the app shows them, and serves nothing until then. */
import { expect, it } from 'vitest';
import { pair } from '../../src/client/pair.ts';
import { openDesk, openHeadless } from '../support/homes/desk-home.ts';
import { newHome, until } from '../support/home.ts';
import type { TestHome } from '../support/home.ts';

const resource = 'https://server.invalid/mcp';
const asked = { resource, interaction: 'never', timeout: 1 };

async function usedWithoutApp(): Promise<TestHome> {
  const home = newHome({ vault: 'keychain' });
  const { line, stop } = await openHeadless(home);
  for (const [method, params] of [
    ['permission.set', { app: 'cli', resource, decision: 'allow', scope: 'read' }],
    ['permission.set', { app: 'cli', resource: 'https://denied.invalid/mcp', decision: 'deny' }],
    ['exception.set', { server: resource, name: 'no-resource', on: true }],
    ['oauthClient.set', { issuer: 'https://login.invalid', clientId: 'abc', clientSecret: 'hush' }],
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
    await expect(line.request('request.answer', { id, answer: 'no' })).rejects.toMatchObject({
      reason: 'not_permitted',
    });
    await answer(id, 'later');
    await stop();
  }
});

it('grants nothing more before its card is answered, neither to a command nor in the window', async () => {
  const home = await usedWithoutApp();
  const { owner, line, card, cards } = await openDesk(home, { leaves: true });
  await expect(line.request('token.get', asked)).rejects.toMatchObject({ reason: 'consent_pending' });
  const first = await card();
  const key = { resource, header: 'X-Key', value: 'k', unchecked: true };
  for (const [method, params] of [
    ['apiKey.set', key],
    ['oauthClient.set', { issuer: 'https://other.invalid', clientId: 'abc', clientSecret: 'hush' }],
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
  await expect(owner.release(true)).rejects.toMatchObject({ reason: 'consent_pending' });
  expect(await cards()).toEqual([first]);
  // What takes away is taken at once.
  await owner.call('permission.set', { app: 'cli', resource, decision: 'deny' });
});

it.each(['no', 'yes'] as const)('removes all of it, or keeps it, as its answer (%s) says', async (said) => {
  const home = await usedWithoutApp();
  const { line, owner, card, cards, answer, permissions, stop } = await openDesk(home, { leaves: true });
  await expect(line.request('token.get', asked)).rejects.toMatchObject({ reason: 'consent_pending' });
  await answer((await card()).id, said);
  await until('it is answered', async () => (await cards()).length === 0);
  await expect(line.request('token.get', asked)).rejects.not.toMatchObject({ reason: 'consent_pending' });
  const decisions = (await permissions()).map(({ decision }) => decision);
  expect(decisions).toEqual(said === 'no' ? ['deny'] : ['allow', 'deny']);
  const left = said === 'no' ? 0 : 1;
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
});
