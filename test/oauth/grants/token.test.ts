/** Token requests at a real endpoint that answers in all the shapes that servers have. */
import { describe, expect, it } from 'vitest';
import { registrationAt } from '../parties.ts';
import { good, jwt, resource, tokenRequests } from '../token-requests.ts';
import { everyWordOf, refusalOf } from '../refusal.ts';
import { now, siteOfFile, type Page } from '../site.ts';

const site = await siteOfFile();

const { refreshed, exchanged } = tokenRequests(site);

const sent = (): Record<string, string> => Object.fromEntries(new URLSearchParams(site.asked[0]?.body));

describe('the requests', () => {
  it('I-1 T-6: exchanges the code with verifier, redirect URI, client and resource', async () => {
    site.lay('/token', { body: { ...good, scope: 'a', refresh_token: 'refr3sh' } });
    expect(await exchanged({ scope: ['a', 'b'] })).toEqual({
      accessToken: 'acc3ss',
      tokenType: 'Bearer',
      issuedAt: now,
      expiresAt: now + 60_000,
      refreshToken: 'refr3sh',
      scope: ['a'],
      scopeStated: true,
    });
    expect(sent()).toEqual({
      grant_type: 'authorization_code',
      code: 'c0de',
      code_verifier: 'v'.repeat(43),
      redirect_uri: 'http://127.0.0.1:4711/callback',
      client_id: 'client-1.a_b',
      resource,
    });
  });

  it('I-1 N-9 T-6: refreshes with client and resource, and with a scope only to narrow', async () => {
    site.lay('/token', { body: good });
    expect(await refreshed()).toMatchObject({ scope: ['a', 'b'], scopeStated: false });
    expect(sent()).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'refr3sh',
      client_id: 'client-1.a_b',
      resource,
    });
    site.clear();
    site.lay('/token', { body: good });
    expect(await refreshed({ scope: ['a'] })).toMatchObject({ scope: ['a'], scopeStated: false });
    expect(sent()).toMatchObject({ scope: 'a' });
  });

  it('N-4: makes no request with another issuer’s registration, or without its secret', async () => {
    const elsewhere = registrationAt('https://other.example');
    expect((await refusalOf(() => refreshed({ registration: elsewhere }))).reason).toBe('issuer_mismatch');
    const basic = registrationAt(site.origin, { tokenEndpointAuthMethod: 'client_secret_basic' });
    expect((await refusalOf(() => refreshed({ registration: basic }))).reason).toBe('client_rejected');
    expect(site.asked).toEqual([]);
  });

  it('X-5: exchanges no code if the authorization response is wrong', async () => {
    expect((await refusalOf(() => exchanged({ state: 'other' }))).reason).toBe('state_mismatch');
    expect(site.asked).toEqual([]);
  });
});

describe('an answer', () => {
  it.each([
    ['bEaReR, a lifetime as text', { token_type: 'bEaReR', expires_in: '60' }, { expiresAt: now + 60_000 }],
    ['null for nothing', { scope: null, refresh_token: null, id_token: null }, { scope: ['a', 'b'] }],
    ['no token type', { token_type: undefined }, { tokenType: 'Bearer' }],
    ['scopes that were not asked for', { scope: 'a z' }, { scope: ['a', 'z'] }],
  ])('W-1: accepts a token response with %s', async (_what, changes, expected) => {
    site.lay('/token', { body: { ...good, ...changes } });
    expect(await refreshed()).toMatchObject(expected);
  });

  it('A-3: rejects a token with a line break, without repeating it', async () => {
    site.lay('/token', { body: { ...good, access_token: 'acc3ss\r\nx: y' } });
    const refusal = await refusalOf(() => refreshed());
    expect(refusal.reason).toBe('token_invalid');
    expect(everyWordOf(refusal)).not.toMatch(/acc3ss|refr3sh/);
  });

  it('W-1: accepts a token response as a form, as some servers send it', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = 'access_token=acc3ss&token_type=bearer&expires_in=60&scope=a';
    site.lay('/token', { headers, body });
    expect(await refreshed()).toMatchObject({ accessToken: 'acc3ss', expiresAt: now + 60_000, scope: ['a'] });
  });
});

describe('an ID token', () => {
  const lay = (changes: object) => {
    const who = { iss: site.origin, sub: 'alice', aud: 'client-1.a_b', nonce: 'n' };
    const id_token = jwt({ ...who, iat: now / 1000, exp: now / 1000 + 60, ...changes });
    site.lay('/token', { body: { ...good, refresh_token: 'n3xt', id_token } });
  };

  it('says who signed in, and is checked by the clock that was passed in', async () => {
    lay({});
    expect(await exchanged({ nonce: 'n' })).toMatchObject({
      subject: { issuer: site.origin, subject: 'alice' },
    });
  });

  it.each([{ aud: 'other' }, { nonce: 'm', exp: 1 }])('refuses an ID token with %j', async (changes) => {
    lay(changes);
    expect((await refusalOf(() => exchanged({ nonce: 'n' }))).reason).toBe('token_invalid');
  });

  it('T-4: a wrong ID token in a refresh loses no rotated refresh token', async () => {
    lay({ aud: 'other' });
    const kept: string[] = [];
    const refusal = await refusalOf(() => refreshed({ onRotation: (next) => void kept.push(next) }));
    expect(refusal.reason).toBe('token_invalid');
    expect(kept).toEqual(['n3xt']);
    expect(everyWordOf(refusal)).not.toMatch(/n3xt|acc3ss|eyJ/);
  });
});

describe('an error that repeats the request', () => {
  const basic = Buffer.from('client-1.a_b:s%3Acr-t').toString('base64');

  it.each([
    ['a code', () => exchanged(), ['c0de']],
    ['a verifier', () => exchanged(), ['v'.repeat(43)]],
    ['a refresh token', () => refreshed(), ['refr3sh']],
    ['a token in a URL', () => refreshed({ refreshToken: 'a/b c' }), ['a/b c', 'a%2Fb%20c', 'a%2Fb+c']],
    ['a client secret', () => refreshedAs('client_secret_post'), ['s:cr-t']],
    ['the credentials of a header', () => refreshedAs('client_secret_basic'), [basic, 's:cr-t', 's%3Acr-t']],
  ] as const)('X-9: shows an error that repeats the request without %s', async (_what, asked, secrets) => {
    const body = { error: 'invalid_request', error_description: `bad: ${secrets.join(', ')}.` };
    site.lay('/token', { status: 400, body });
    const refusal = await refusalOf(asked);
    expect(refusal.message).toContain(`("bad: ${secrets.map(() => '…').join(', ')}.")`);
    for (const secret of secrets) expect(everyWordOf(refusal)).not.toContain(secret);
  });

  it('reads a code of a quarter of a million characters', async () => {
    site.lay('/token', { status: 400, body: { error: 'g'.repeat(250_000) } });
    expect((await refusalOf(() => exchanged())).message).toContain('ggg…');
  });

  function refreshedAs(tokenEndpointAuthMethod: 'client_secret_post' | 'client_secret_basic') {
    const registration = registrationAt(site.origin, { tokenEndpointAuthMethod });
    return refreshed({ registration, clientSecret: 's:cr-t' });
  }

  it('hides an error code that is the refresh token, and decides by it', async () => {
    site.lay('/token', { status: 400, body: { error: 'invalid_grant', error_description: 'no grant' } });
    const refusal = await refusalOf(() => refreshed({ refreshToken: 'grant' }));
    expect(refusal.reason).toBe('login_required');
    expect(refusal.message).toContain('"invalid_…" ("no …")');
  });
});

it.each([
  ['invalid_client', 401, 'client_rejected'],
  ['unauthorized_client', 400, 'client_rejected'],
  ['invalid_scope', 400, 'scope_insufficient'],
  ['invalid_target', 400, 'resource_mismatch'],
  ['invalid_request', 400, 'login_failed'],
])(
  'W-5: a refresh that is refused distinguishes %s from an invalid refresh token',
  async (error, status, reason) => {
    const words = 'Invalid grant type: refresh_token\u202e';
    site.lay('/token', { status, body: { error, error_description: words } });
    const refusal = await refusalOf(() => refreshed({ scope: ['a'] }));
    expect(refusal.reason).toBe(reason);
    expect(refusal.message).not.toContain('\u202e');
  },
);

const unreachable = 'authorization_server_unreachable';

it.each<[string, Page, string]>([
  ['invalid_grant', { status: 400, body: { error: 'invalid_grant' } }, 'login_failed'],
  ['403 invalid_code', { status: 403, body: { error: 'invalid_code' } }, 'login_failed'],
  ['a web page with 403', { status: 403, body: '<html>' }, unreachable],
  ['invalid_client', { status: 401, body: { error: 'invalid_client' } }, 'client_rejected'],
  ['a 500', { status: 500 }, unreachable],
  ['a web page', { body: '<html>' }, unreachable],
])('W-2: a refused code says why after %s, without code or verifier', async (_what, page, reason) => {
  site.lay('/token', page);
  const error = await refusalOf(() => exchanged());
  expect(error.reason).toBe(reason);
  expect(everyWordOf(error)).not.toMatch(/c0de|vvvv|st4te/);
  expect(site.asked).toHaveLength(1);
});
