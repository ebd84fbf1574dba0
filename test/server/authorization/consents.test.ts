/** What people have allowed, and aren't asked again. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CookieJar } from '../../../demo/user-agent.ts';
import { memoryStorage } from '../../../src/server/authorization/index.ts';
import { Consents } from '../../../src/server/authorization/consents.ts';
import type { AskedConsent } from '../../../src/server/authorization/consents.ts';
import { authorizationOf, editor, notes, startServer, tokenRequest } from './rig.ts';
import type { Asked, Rig } from './rig.ts';

const asked: AskedConsent = {
  clientId: 'app',
  clientName: 'App',
  redirectUris: ['https://app.example/a', 'https://app.example/b'],
  redirectUri: 'https://app.example/a',
  resource: notes,
  scopes: ['notes:read', 'notes:write'],
};

const day = 24 * 60 * 60;

function rememberedAt(now: () => number) {
  return new Consents({ storage: memoryStorage(), now, refreshToken: 30 * day });
}

describe('a remembered consent', () => {
  it.each<[string, Partial<AskedConsent>]>([
    ['the same', {}],
    ['fewer scopes', { scopes: ['notes:read'] }],
    ['another redirect of the same host', { redirectUri: 'https://app.example/b' }],
    ['the same redirects in another order', { redirectUris: asked.redirectUris.toReversed() }],
  ])('is enough for %s, of the same account', async (_what, changes) => {
    const consents = rememberedAt(() => 0);
    await consents.remember('alice', asked);
    expect(await consents.covers('alice', { ...asked, ...changes })).toBe(true);
    expect(await consents.covers('bob', { ...asked, ...changes })).toBe(false);
  });

  it.each<[string, Partial<AskedConsent>]>([
    ['a further scope', { scopes: ['notes:read', 'notes:delete'] }],
    ['another resource', { resource: 'https://files.example/mcp' }],
    ['another client', { clientId: 'other' }],
    ['another redirect host', { redirectUri: 'https://evil.example/a' }],
    ['another port of the redirect host', { redirectUri: 'https://app.example:444/a' }],
    [
      'a client that has a further redirect now',
      { redirectUris: [...asked.redirectUris, 'https://evil.example'] },
    ],
    ['a client that has a redirect less now', { redirectUris: ['https://app.example/a'] }],
    ['a client that calls itself otherwise now', { clientName: 'Bank' }],
  ])('AS-29: is not enough for %s', async (_what, changes) => {
    const consents = rememberedAt(() => 0);
    await consents.remember('alice', asked);
    expect(await consents.covers('alice', { ...asked, ...changes })).toBe(false);
  });

  it('is forgotten after a year, by a no, and when it is withdrawn', async () => {
    let now = 0;
    const consents = rememberedAt(() => now);
    await consents.remember('alice', asked);
    now = 366 * day * 1000;
    expect(await consents.covers('alice', asked)).toBe(false);
    await consents.remember('alice', asked);
    await consents.forget('alice', asked);
    expect(await consents.covers('alice', asked)).toBe(false);
    await consents.remember('alice', asked);
    await consents.withdraw('alice', 'app');
    expect(await consents.covers('alice', asked)).toBe(false);
    expect(await consents.list('alice')).toEqual([]);
  });

  it('AS-29: is never one for a redirect to the person’s own machine', async () => {
    const consents = rememberedAt(() => 0);
    const local = { ...asked, redirectUri: 'http://127.0.0.1:5000/callback' };
    await consents.remember('alice', local);
    expect([await consents.covers('alice', local), await consents.list('alice')]).toEqual([false, []]);
  });
});

const redirectUri = 'https://app.example/callback';
const web = 'web-app';

describe('an app that a person has allowed', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startServer({
      clients: [
        { clientId: web, name: 'Web app', redirectUris: [redirectUri] },
        { clientId: editor, name: 'Editor', redirectUris: ['http://127.0.0.1:5000/callback'] },
      ],
    });
  });
  afterAll(async () => rig.close());

  /** A browser in which alice signs in, and allows what she is asked. Answers how often she was, and what came of it. */
  async function authorize(jar: CookieJar, changes: Asked = {}, decision = 'allow') {
    const authorization = authorizationOf(rig, { client_id: web, redirect_uri: redirectUri, ...changes });
    let consents = 0;
    let url = authorization.url;
    let body: URLSearchParams | undefined;
    for (;;) {
      const response = await rig.request(url, {
        headers: { cookie: jar.header(new URL(url)) },
        ...(body ? { method: 'POST', body } : {}),
      });
      jar.keep(new URL(url), response.headers.getSetCookie());
      const location = response.headers.get('location');
      body = undefined;
      if (location === null) {
        const page = await response.text();
        const token = /name="form_token" value="([^"]*)"/.exec(page)?.[1] ?? '';
        const isConsent = page.includes('name="decision"');
        if (isConsent) consents += 1;
        body = new URLSearchParams({ form_token: token, ...(isConsent ? { decision } : { login: 'alice' }) });
        continue;
      }
      url = new URL(location, url).href;
      if (url.startsWith(rig.origin)) continue;
      const { searchParams } = new URL(url);
      const { verifier } = authorization;
      return { consents, code: searchParams.get('code'), error: searchParams.get('error'), verifier };
    }
  }

  async function tokensOf({ code, verifier }: { code: string | null; verifier: string }) {
    const client = { client_id: web, redirect_uri: redirectUri };
    return tokenRequest(rig, {
      grant_type: 'authorization_code',
      code: code ?? '',
      code_verifier: verifier,
      ...client,
    });
  }

  it('AS-29: is not asked for again, unless it asks for more, or for the question', async () => {
    const jar = new CookieJar();
    expect((await authorize(jar)).consents).toBe(1);
    const again = await authorize(jar);
    expect([again.consents, (await tokensOf(again)).body['scope']]).toEqual([0, 'notes:read']);
    expect((await authorize(jar, { prompt: 'none' })).error).toBeNull();
    expect((await authorize(jar, { scope: 'notes:read notes:write' })).consents).toBe(1);
    expect((await authorize(jar, { scope: 'notes:read notes:write' })).consents).toBe(0);
    expect((await authorize(jar, { prompt: 'consent' })).consents).toBe(1);
    expect((await authorize(jar, { prompt: 'consent', keyturn_unasked: '1' })).consents).toBe(1);
  });

  it('AS-29: loses its refresh token when the consent is withdrawn', async () => {
    const jar = new CookieJar();
    const refresh = async (clientId: string, { body }: Awaited<ReturnType<typeof tokensOf>>) =>
      tokenRequest(rig, {
        grant_type: 'refresh_token',
        refresh_token: String(body['refresh_token']),
        client_id: clientId,
      });
    const first = await refresh(web, await tokensOf(await authorize(jar)));
    expect(first.status).toBe(200);
    expect(await rig.server.consents('alice')).toContainEqual(
      expect.objectContaining({ clientId: web, redirectHost: 'app.example', resource: notes }),
    );
    await rig.server.withdrawConsent('alice', 'somebody else');
    const second = await refresh(web, first);
    expect(second.status).toBe(200);
    await rig.server.withdrawConsent('alice', web);
    expect((await refresh(web, second)).body['error']).toBe('invalid_grant');
    expect((await rig.server.consents('alice')).map(({ clientId }) => clientId)).not.toContain(web);
    expect((await authorize(jar)).consents).toBe(1);
  });
});

describe('a withdrawal', () => {
  it('of consent concerns what was answered before it, of one account and one client', async () => {
    const consents = rememberedAt(() => 5000);
    await consents.withdraw('alice', 'app');
    expect(await consents.isWithdrawn('alice', 'app', 5)).toBe(true);
    expect(await consents.isWithdrawn('alice', 'app', 6)).toBe(false);
    expect(await consents.isWithdrawn('alice', 'other', 5)).toBe(false);
    expect(await consents.isWithdrawn('bob', 'app', 5)).toBe(false);
  });
});
