/** Token answers in shapes that hostile and odd servers give: what is used, refused, or only put off. */
import { registrationAt, serverAt } from '../parties.ts';
import { checkAudience } from '../../../src/oauth/grants/audience.ts';
import { describe, expect, it } from 'vitest';
import { Unreachable } from '../../../src/base/errors.ts';
import { good, jwt, resource, tokenRequests } from '../token-requests.ts';
import { everyWordOf, refusalOf } from '../refusal.ts';
import { now, siteOfFile, type Page } from '../site.ts';

const html: Page = { headers: { 'content-type': 'text/html' }, body: '<html>Sign in to the Wi-Fi</html>' };

const site = await siteOfFile();

const { refreshed, exchanged } = tokenRequests(site);

/** How a refresh is refused that is answered like this, whose rotated refresh token is kept. */
async function refusedRotation(answer: object): Promise<unknown> {
  site.lay('/token', { body: { ...good, refresh_token: 'n3xt', ...answer } });
  const kept: string[] = [];
  const refusal = await refusalOf(() => refreshed({ onRotation: (token) => void kept.push(token) }));
  expect(kept).toEqual(['n3xt']);
  return refusal;
}

it.each([{ token_type: 'mac' }, { token_type: 'N_A' }, { token_type: 7 }])(
  'A-3 T-4: rejects the token type in %j, and keeps a rotated refresh token',
  async (changes) => expect(await refusedRotation(changes)).toMatchObject({ reason: 'token_invalid' }),
);

it.each([{ access_token: undefined }, { access_token: '' }, { access_token: null }, { access_token: 7 }])(
  'A-3: an access token in the form %j is no token response, and the grant stays',
  async (changes) => {
    site.lay('/token', { body: { ...good, ...changes } });
    expect(await refusalOf(() => refreshed())).toBeInstanceOf(Unreachable);
  },
);

describe('the lifetime', () => {
  it.each([
    [0, 0],
    [30, 30],
    ['45', 45],
    [' 45.9 ', 45],
    [1e300, 31_536_000],
    ['99999999999999999999', 31_536_000],
    [undefined, Infinity],
    [null, Infinity],
    ['', Infinity],
    [-1, Infinity],
    ['-1', Infinity],
    [-3600.5, Infinity],
  ])('A-4: a lifetime of %j is %d seconds by our own clock', async (stated, seconds) => {
    site.lay('/token', { body: { ...good, expires_in: stated } });
    expect(await refreshed()).toMatchObject({ expiresAt: now + seconds * 1000 });
  });

  it('limits a lifetime that JSON reads as infinite', async () => {
    const body = '{"access_token":"a","token_type":"Bearer","expires_in":1e999}';
    site.lay('/token', { headers: { 'content-type': 'application/json' }, body });
    expect(await refreshed()).toMatchObject({ expiresAt: now + 31_536_000_000 });
  });

  it.each(['NaN', 'Infinity', '0x10', '1e3', 'soon', true, [], {}, [60]])(
    'A-4: refuses the lifetime %j, and keeps a rotated refresh token',
    async (stated) =>
      expect(await refusedRotation({ expires_in: stated })).toMatchObject({
        reason: 'token_invalid',
        rule: expect.stringContaining('expires_in'),
      }),
  );

  it("A-4: a lifetime doesn't depend on the server's clock, an hour ahead or behind", async () => {
    for (const skew of [-3_600_000, 3_600_000]) {
      site.lay('/token', { headers: { date: new Date(now + skew).toUTCString() }, body: good });
      expect(await refreshed()).toMatchObject({ issuedAt: now, expiresAt: now + 60_000 });
    }
  });

  it('A-4: accepts an ID token with a clock that is wrong by an hour, and not by a day', async () => {
    const lay = (skew: number) => {
      const at = (now + skew) / 1000;
      const who = { iss: site.origin, sub: 'alice', aud: 'client-1.a_b', nonce: 'n' };
      const idToken = jwt({ ...who, iat: at, nbf: at, exp: at + 60 });
      site.lay('/token', { body: { ...good, id_token: idToken } });
    };
    for (const skew of [-3_600_000, 3_600_000]) {
      lay(skew);
      expect(await exchanged({ scope: ['a', 'b'], nonce: 'n' })).toMatchObject({
        subject: { subject: 'alice' },
      });
    }
    for (const skew of [-86_400_000, 86_400_000]) {
      lay(skew);
      expect((await exchanged({ scope: ['a', 'b'], nonce: 'n' })).subject).toBeUndefined();
    }
  });
});

it.each([
  [undefined, ['a', 'b'], false],
  [null, ['a', 'b'], false],
  ['', ['a', 'b'], false],
  ['a', ['a'], true],
  ['a b more', ['a', 'b', 'more'], true],
  ['more', ['more'], true],
  ['a caf\u00e9 "x"', ['a'], true],
])('W-4: a scope stated as %j is recorded as %j', async (scope, recorded, scopeStated) => {
  site.lay('/token', { body: { ...good, scope } });
  expect(await exchanged({ scope: ['a', 'b'] })).toMatchObject({ scope: recorded, scopeStated });
  expect(await refreshed()).toMatchObject({ scope: recorded, scopeStated });
});

describe('the audience of a JWT', () => {
  const lay = (aud: unknown) => site.lay('/token', { body: { ...good, access_token: jwt({ aud }) } });

  it('a JWT for several audiences is accepted if one is the resource', async () => {
    lay(['https://other.example', 7, null, resource]);
    expect(await refreshed()).toMatchObject({ tokenType: 'Bearer' });
  });

  it.each([
    ['https://notes.example/team', true],
    ['https://notes.example/team/', true],
    ['https://notes.example', true],
    ['https://notes.example/te', false],
    ['https://notes.example/team/mcp/inner', false],
    ['https://notes.example/other', false],
    ['https://notes.example/team?tenant=1', false],
    ['https://notes.example:8443/team', false],
    ['http://notes.example/team', false],
    ['https://notes.example.evil.example/team', false],
  ])('A-5: the audience %s of a JWT names https://notes.example/team/mcp: %s', (aud, isNamed) => {
    const issuer = 'https://login.example';
    const expected = {
      server: serverAt(issuer),
      registration: registrationAt(issuer),
      resource: 'https://notes.example/team/mcp',
      secrets: [],
    };
    const check = (): string => checkAudience(aud, expected, { allowInsecureLoopback: false });
    if (isNamed) expect(check()).toBe('resource');
    else expect(check).toThrow('issued a token for');
  });

  it('A-5: refuses a JWT for another resource, and the refusal names the exception', async () => {
    lay(['https://other.example', 7]);
    expect(await refusalOf(() => refreshed())).toMatchObject({
      reason: 'audience_mismatch',
      message: expect.stringContaining('"https://other.example"'),
      // A refresh, which goes on by itself.
      hint: expect.stringMatching(/exception add \S+ audience$/),
    });
  });
});

it('a JSON answer without a token ends a sign-in, and a refresh for now only', async () => {
  const created = { status: 201, body: { ok: true } };
  for (const page of [{ body: {} }, { body: { data: good } }, { body: { token: good } }, created]) {
    site.lay('/token', page);
    expect(await refusalOf(() => exchanged())).toMatchObject({ reason: 'token_invalid' });
    expect(await refusalOf(() => refreshed())).toBeInstanceOf(Unreachable);
  }
});

describe('an answer that means nothing now', () => {
  it.each<[string, Page]>([
    ['a web page with 200', html],
    ['a web page with 400', { ...html, status: 400 }],
    ['a web page with 401', { ...html, status: 401 }],
    ['a web page with 403', { ...html, status: 403 }],
    ['a redirect to a captive portal', { status: 302, headers: { location: 'https://portal.example/' } }],
    ['a list', { body: [] }],
    ['nothing at all', { status: 200 }],
    ['a 204', { status: 204 }],
  ])('T-3: a refresh fails only for now after %s', async (_what, page) => {
    site.lay('/token', page);
    for (const error of [await refusalOf(() => refreshed()), await refusalOf(() => exchanged())]) {
      expect(error).toBeInstanceOf(Unreachable);
      expect(everyWordOf(error)).not.toMatch(/refr3sh|c0de|Wi-Fi/);
    }
  });

  it.each([429, 503])('T-3: a refusal says when to try again after a %i', async (status) => {
    const headers = { 'retry-after': '17' };
    site.lay('/token', { status, headers, body: { error: 'invalid_grant' } });
    for (const error of [await refusalOf(() => refreshed()), await refusalOf(() => exchanged())]) {
      expect(error).toBeInstanceOf(Unreachable);
      expect(error.retryAfter).toBe(17);
    }
  });
});

describe('what a server says in an error', () => {
  it('X-9: an error text with markup and control characters is quoted and shortened', async () => {
    const description = `<script>alert(1)</script>\u0000\u001b[31m\r\n\u202e\u2028${'x'.repeat(5000)}`;
    site.lay('/token', { status: 400, body: { error: 'invalid_grant', error_description: description } });
    for (const error of [await refusalOf(() => refreshed()), await refusalOf(() => exchanged())]) {
      expect(error.message).not.toMatch(/[\u0000-\u001f\u202e\u2028]/);
      expect(error.message.length).toBeLessThan(600);
    }
  });

  it('an error code that is no text does not count', async () => {
    for (const error of [{ error: 7 }, { error: ['invalid_grant'] }, { error: { code: 'invalid_grant' } }]) {
      site.lay('/token', { status: 400, body: error });
      expect(await refusalOf(() => refreshed())).toBeInstanceOf(Unreachable);
    }
  });
});

it.each([301, 302, 303, 307, 308])(
  'X-8: follows no redirect of a token request, not even on the same origin: %i',
  async (status) => {
    site.lay('/token', { status, headers: { location: '/elsewhere' } });
    site.lay('/elsewhere', { body: good });
    expect(await refusalOf(() => refreshed())).toBeInstanceOf(Unreachable);
    expect(await refusalOf(() => exchanged())).toBeInstanceOf(Unreachable);
    expect(site.asked.map(({ path }) => path)).toEqual(['/token', '/token']);
  },
);

it.each([201, 202, 203])(
  'a token response with status %d is valid, and its refresh token is kept',
  async (status) => {
    site.lay('/token', { status, body: { ...good, refresh_token: 'n3xt' } });
    const rotated: string[] = [];
    expect(await refreshed({ onRotation: (token) => void rotated.push(token) })).toMatchObject({
      accessToken: 'acc3ss',
    });
    expect(rotated).toEqual(['n3xt']);
    expect(await exchanged()).toMatchObject({ accessToken: 'acc3ss' });
  },
);

describe('a scope that is no text', () => {
  it('reads a scope that is a list of texts', async () => {
    site.lay('/token', { body: { ...good, scope: ['b', 'c d'] } });
    expect(await refreshed()).toMatchObject({ scope: ['b', 'c', 'd'], scopeStated: true });
    site.lay('/token', { body: { ...good, access_token: jwt({ scope: ['b'] }) } });
    expect(await refreshed()).toMatchObject({ scope: ['b'], scopeStated: true });
  });

  it.each([[[]], [[1]], [{}], [7], [true]])(
    'a malformed scope never means all requested scopes: %j',
    async (scope) =>
      expect(await refusedRotation({ scope })).toMatchObject({
        reason: 'token_invalid',
        rule: expect.stringContaining('RFC 6749 §5.1'),
      }),
  );
});
