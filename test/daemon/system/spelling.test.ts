/** How a card spells an address, whatever a command typed. */
import { describe, expect, it } from 'vitest';
import { spelled } from '../../../src/daemon/system/spelling.ts';
import { openDesk } from '../../support/homes/desk-home.ts';
import { newHome } from '../../support/home.ts';

it.each([
  ['https://Notes.Example', 'https://notes.example'],
  ['https://notes.example:443/a/../mcp', 'https://notes.example/mcp'],
  // A Cyrillic "о".
  ['https://n\u043etes.example/', 'https://xn--ntes-55d.example/'],
  ['https://notes.example/mcp/', 'https://notes.example/mcp/'],
  ['no address', 'no address'],
])('the address %s is spelled %s', (typed, shown) => expect(spelled(typed)).toBe(shown));

describe('a card in the app', () => {
  /** A Cyrillic "о" in the host. */
  const typed = 'https://N\u043etes.example:443/mcp/';
  const resource = 'https://xn--ntes-55d.example/mcp';
  const issuer = 'https://LOGIN.example/tenant';

  it.each([
    ['permission.set', { app: 'cli', resource: typed, decision: 'allow' }, { resource }],
    ['signIn.start', { resource: typed, issuer }, { resource, issuer: 'https://login.example/tenant' }],
    ['exception.set', { server: typed, name: 'no-resource', on: true }, { server: resource }],
    ['oauthClient.set', { issuer, clientId: 'x' }, { issuer: 'https://login.example/tenant' }],
    [
      'oauthClient.set',
      {
        issuer,
        clientId: 'x',
        clientSecret: 'aClientSecret-0815',
        grantType: 'id-jag',
        idp: { issuer: 'https://IDP.example', clientId: 'x', idTokenFile: '/nowhere/id-token' },
      },
      { issuer: 'https://login.example/tenant', idp: 'https://idp.example' },
    ],
  ])('about %s shows the canonical spelling: %j', async (method, params, shown) => {
    const { line, card, answer } = await openDesk(newHome());
    const asking = line.request(method, params);
    asking.catch(() => undefined);
    const { id, ...rest } = await card();
    expect(rest).toMatchObject(shown);
    await answer(id, 'no');
    await expect(asking).rejects.toMatchObject({ reason: 'consent_denied' });
  });
});
