/** What people have allowed, and aren't asked again. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { memoryStorage } from '../../../src/server/authorization/index.ts';
import { Consents, type AskedConsent } from '../../../src/server/authorization/consents.ts';
import type { Browser } from '../browser.ts';
import { authorizationOf, editor, exchangeOf, notes, refreshOf, startServer, tokenFor, walk } from './rig.ts';
import type { Asked } from './rig.ts';
import { ofFile } from '../../support/lasting.ts';

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
  it.each<[string, Partial<AskedConsent>, boolean?]>([
    ['the same', {}, true],
    ['fewer scopes', { scopes: ['notes:read'] }, true],
    ['another redirect of the same host', { redirectUri: 'https://app.example/b' }, true],
    ['a further scope', { scopes: ['notes:read', 'notes:delete'] }],
    ['another resource', { resource: 'https://files.example/mcp' }],
    ['another client', { clientId: 'other' }],
    ['another redirect host', { redirectUri: 'https://evil.example/a' }],
    ['another port of the redirect host', { redirectUri: 'https://app.example:444/a' }],
    ['a client with one redirect more', { redirectUris: [...asked.redirectUris, 'https://evil.example'] }],
    ['a client that calls itself otherwise now', { clientName: 'Bank' }],
  ])('AS-29: is enough for no other account, and for %s: %s %s', async (_what, changes, isEnough = false) => {
    const consents = rememberedAt(() => 0);
    await consents.remember('alice', asked);
    expect(await consents.covers('alice', { ...asked, ...changes })).toBe(isEnough);
    expect(await consents.covers('bob', { ...asked, ...changes })).toBe(false);
  });

  it('is forgotten after a year, by a denial, and when it is withdrawn', async () => {
    let now = 0;
    const consents = rememberedAt(() => now);
    await consents.remember('alice', asked);
    now = 200 * day * 1000;
    await consents.remember('alice', { ...asked, scopes: ['files'] });
    expect(await consents.covers('alice', { ...asked, scopes: [...asked.scopes, 'files'] })).toBe(true);
    now = 366 * day * 1000;
    await consents.remember('alice', { ...asked, scopes: ['notes:read'] });
    expect(await consents.covers('alice', asked)).toBe(false);
    await consents.remember('alice', asked);
    await consents.forget('alice', asked);
    expect(await consents.covers('alice', asked)).toBe(false);
    await consents.remember('alice', asked);
    await consents.withdraw('alice', 'app');
    expect(await consents.covers('alice', asked)).toBe(false);
    expect(await consents.list('alice')).toEqual([]);
  });

  it('AS-29: is never one for a redirect to the user’s own machine', async () => {
    const consents = rememberedAt(() => 0);
    const local = { ...asked, redirectUri: 'http://127.0.0.1:5000/callback' };
    await consents.remember('alice', local);
    expect([await consents.covers('alice', local), await consents.list('alice')]).toEqual([false, []]);
  });
});

const redirectUri = 'https://app.example/callback';
const web = 'web-app';

describe('an app that a user has allowed', () => {
  const rig = ofFile(async () =>
    startServer({
      clients: [
        { clientId: web, name: 'Web app', redirectUris: [redirectUri] },
        { clientId: editor, name: 'Editor', redirectUris: ['http://127.0.0.1:5000/callback'] },
      ],
    }),
  );

  /** Alice signs in in this browser, and allows what she is asked. */
  async function authorize(browser: Browser, changes: Asked = {}) {
    const authorization = authorizationOf(rig, { client_id: web, redirect_uri: redirectUri, ...changes });
    return { authorization, ...(await walk(rig, authorization, browser)) };
  }

  const tokensOf = async ({ authorization, code }: Awaited<ReturnType<typeof authorize>>) =>
    tokenFor(rig, exchangeOf(authorization, code));

  it('AS-29: is not asked for again, unless it asks for more, or for the question', async () => {
    const jar = rig.browser();
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
    const jar = rig.browser();
    const refresh = async ({ body }: Awaited<ReturnType<typeof tokensOf>>) =>
      tokenFor(rig, refreshOf(body['refresh_token'], { client_id: web }));
    const first = await refresh(await tokensOf(await authorize(jar)));
    expect(first.status).toBe(200);
    expect(await rig.server.consents('alice')).toContainEqual(
      expect.objectContaining({ clientId: web, redirectHost: 'app.example', resource: notes }),
    );
    await rig.server.withdrawConsent('alice', 'somebody else');
    const second = await refresh(first);
    expect(second.status).toBe(200);
    await rig.server.withdrawConsent('alice', web);
    expect((await refresh(second)).body['error']).toBe('invalid_grant');
    expect((await rig.server.consents('alice')).map(({ clientId }) => clientId)).not.toContain(web);
    expect((await authorize(jar)).consents).toBe(1);
  });
});

it('AS-29: a refresh that is under way at the withdrawal gives no access that lasts', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  onTestFinished(() => void vi.useRealTimers());
  const inner = memoryStorage();
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const storage = {
    ...inner,
    async consume(...[kind, ...rest]: Parameters<typeof inner.consume>) {
      if (kind === 'RefreshToken') {
        reached.resolve();
        await released.promise;
      }
      return inner.consume(kind, ...rest);
    },
  };
  const rig = await startServer({
    storage,
    clients: [{ clientId: web, name: 'Web app', redirectUris: [redirectUri] }],
  });
  onTestFinished(() => rig.close());
  const authorization = authorizationOf(rig, { client_id: web, redirect_uri: redirectUri });
  const { code } = await walk(rig, authorization);
  const refresh = async ({ body }: { readonly body: Readonly<Record<string, unknown>> }) =>
    tokenFor(rig, refreshOf(body['refresh_token'], { client_id: web }));
  const underWay = refresh(await tokenFor(rig, exchangeOf(authorization, code)));
  await reached.promise;
  await rig.server.withdrawConsent('alice', web);
  vi.setSystemTime(Date.now() + 2000);
  released.resolve();
  expect((await refresh(await underWay)).body['error']).toBe('invalid_grant');
});

it('a withdrawal concerns earlier answers of one account and one client', async () => {
  const consents = rememberedAt(() => 5000);
  await consents.withdraw('alice', 'app');
  expect(await consents.isWithdrawn('alice', 'app', 5)).toBe(true);
  expect(await consents.isWithdrawn('alice', 'app', 6)).toBe(false);
  expect(await consents.isWithdrawn('alice', 'other', 5)).toBe(false);
  expect(await consents.isWithdrawn('bob', 'app', 5)).toBe(false);
});
