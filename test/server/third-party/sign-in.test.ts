/** Sign-ins of the third-party flow: consent before anything is forwarded, and upstreams right and hostile. */
import { afterEach, describe, expect, it } from 'vitest';
import { accessibilityFaults } from '../../support/browsers/accessibility.ts';
import { openBrowserProfile } from '../../support/browsers/browser.ts';
import type { Browser, Page as Shown } from '../browser.ts';
import { part } from '../parties.ts';
import { authorizationOf, notes, redirectUri } from '../authorization/rig.ts';
import { authorize, signIn, startFlow, type Bend } from './rig.ts';
import { ofFile, ofTest } from '../../support/lasting.ts';

const flow = ofFile(async () => startFlow());
afterEach(() => {
  flow.upstream.state.bend = {};
  flow.upstream.state.requests.length = 0;
});

const bend = (next: Bend): void => void (flow.upstream.state.bend = next);
const requestsTo = (path: string) => flow.upstream.state.requests.filter((each) => each.path === path);

describe('a sign-in by way of an upstream', () => {
  it('TP-8: gives a token of ours that calls the upstream by the upstream’s token', async () => {
    const { access, claims } = await signIn(flow);
    expect(claims).toMatchObject({
      iss: flow.issuer,
      aud: notes,
      sub: `${flow.upstream.issuer}#alice`,
      scope: 'notes:read',
    });
    expect(flow.events.map(({ kind }) => kind)).toContain('session_started');
    expect(await flow.call(access)).toBe(200);
    const [call] = requestsTo('/api/notes');
    expect(call?.authorization).toMatch(/^Bearer upstream-access-\d+$/);
    expect(JSON.stringify(claims)).not.toContain('upstream-access');
    expect(Number(claims['exp']) - Number(claims['iat'])).toBe(300);
  });

  it('TP-5: uses PKCE, one exact redirect URI, the upstream’s scopes and resource', async () => {
    await signIn(flow, { scope: 'notes:write' });
    const { asked } = flow.upstream.state;
    expect(asked.get('redirect_uri')).toBe(`${flow.issuer}/login/callback`);
    expect(asked.get('code_challenge_method')).toBe('S256');
    expect(asked.get('scope')).toBe('openid offline_access read write');
    expect(asked.get('resource')).toBe(`${flow.upstream.issuer}/api`);
    const [exchange] = requestsTo('/token');
    expect(exchange?.form.get('redirect_uri')).toBe(`${flow.issuer}/login/callback`);
    expect(exchange?.form.get('code_verifier')).toMatch(/^[\w-]{43,}$/);
  });

  it('TP-8: gives a client no scope that the upstream did not grant', async () => {
    bend({ token: { scope: 'openid offline_access read' } });
    const { claims } = await signIn(flow, { scope: 'notes:read notes:write' });
    expect(claims['scope']).toBe('notes:read');
  });

  it('TP-1 TP-6: is readable nowhere in the storage below the seal', async () => {
    await signIn(flow);
    const text = JSON.stringify(await flow.below.scan());
    expect(text).toContain('UpstreamSession');
    for (const secret of ['upstream-access', 'upstream-refresh', 'notes:read'])
      expect(text).not.toContain(secret);
  });
});

describe('a sign-in by way of an upstream that issues no ID token', () => {
  it('without an ID token takes the user’s name from the operator’s call', async () => {
    const asked: number[] = [];
    let names: string[] = [];
    let me = '';
    const plain = await ofTest(
      startFlow(
        {},
        {
          extraScopes: [],
          subjectOf: async (call) => {
            await expect(call('https://elsewhere.example/me')).rejects.toThrow();
            asked.push((await call(me)).status);
            return names.shift() ?? expect.fail('no more names');
          },
        },
      ),
    );
    names = ['carol'];
    me = `${plain.upstream.issuer}/api/notes`;
    const { claims } = await signIn(plain);
    expect(claims['sub']).toBe(`${plain.upstream.issuer}#carol`);
    const { back } = await authorize(plain);
    expect([back.get('error'), back.get('code')]).toEqual(['server_error', null]);
    expect(plain.events.at(-1)?.problem).toMatch(/^subjectOf: AssertionError: "no more names" at /);
    const revoked = plain.upstream.state.requests.filter(({ path }) => path === '/revoke');
    expect(revoked.map(({ form }) => form.get('token'))).toContain('upstream-refresh-2');
    expect(plain.events.filter(({ kind, session }) => kind === 'upstream_revoked' && session)).toEqual([]);
    expect(asked).toEqual([200, 200]);
  });

  it.each([[['plain']], [undefined]])(
    'TP-11: no sign-in starts if the upstream names %j as its methods for PKCE',
    async (methods) => {
      const old = await ofTest(startFlow());
      old.upstream.state.offers.challengeMethods = methods;
      const { back } = await authorize(old);
      expect([back.get('error'), old.upstream.state.asked.size]).toEqual(['server_error', 0]);
    },
  );
});

describe('consent, before anything is forwarded', () => {
  it('TP-10: is asked of each client, on a page without frames, by a __Host- cookie', async () => {
    const browser = flow.browser();
    await authorize(flow, {}, browser);
    flow.upstream.state.asked = new URLSearchParams();
    const asked = { client_id: 'other', redirect_uri: 'https://other.example/callback' };
    const page = await browser.open(authorizationOf(flow, asked).url);
    expect(page.text).toContain('other.example');
    expect(page.text).toContain(new URL(flow.upstream.issuer).host);
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(page.headers.getSetCookie().join()).toMatch(
      /__Host-keyturn-consent=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure/,
    );
    expect(flow.upstream.state.asked.size).toBe(0);
    await browser.submit(page, { decision: 'deny' });
    expect(new URL(browser.sentTo).searchParams.get('error')).toBe('access_denied');
    expect(flow.upstream.state.asked.size).toBe(0);
  });

  const approve = ({ page, owner }: Attempt, headers: Record<string, string>, form = {}) =>
    owner.submit(page, { decision: 'allow', ...form }, undefined, headers);
  it.each<[string, (attempt: Attempt) => Promise<Shown>]>([
    ['an approval without the cookie', (at) => approve(at, { cookie: without(at.own) })],
    ['an approval with two such cookies', (at) => approve(at, { cookie: `${at.own}; ${at.foreign}` })],
    ['an approval from another site', (at) => approve(at, { 'sec-fetch-site': 'cross-site' })],
    ['an approval without the form’s token', (at) => approve(at, {}, { form_token: '' })],
    ['an answer before the approval', ({ page, owner }) => owner.open(`${page.url}?code=c&state=x`)],
  ])('TP-10: the consent before anything is forwarded does not count by %s', async (_what, attempt) => {
    const owner = flow.browser();
    const page = await owner.open(authorizationOf(flow).url);
    const other = flow.browser();
    const otherPage = await other.open(authorizationOf(flow).url);
    flow.upstream.state.asked = new URLSearchParams();
    const foreign = /__Host-[^;]*/.exec(other.jar.header(new URL(otherPage.url)))?.[0] ?? '';
    const own = owner.jar.header(new URL(page.url));
    expect((await attempt({ page, owner, own, foreign })).status).toBe(403);
    expect(flow.upstream.state.asked.size).toBe(0);
    expect(requestsTo('/token')).toHaveLength(0);
  });

  it('TP-10: of one browser is not valid in another that was given the link', async () => {
    const thief = flow.browser();
    const page = await thief.open(authorizationOf(flow).url);
    await thief.submit(page, { decision: 'allow' }, '/authorize');
    const victim = flow.browser();
    expect((await victim.open(thief.sentTo)).status).toBe(400);
    await victim.open(authorizationOf(flow).url);
    expect((await victim.open(thief.sentTo)).status).toBe(400);
    expect(requestsTo('/token')).toHaveLength(0);
  });
});

it('consent in a browser has no fault that axe finds, and leads back to the client', async () => {
  const origins = [flow.issuer, flow.upstream.issuer];
  const { page } = await ofTest(openBrowserProfile({ ca: flow.ca, origins }));
  await page.goto(authorizationOf(flow).url);
  await page.getByRole('heading', { name: 'Allow Editor to use Notes?' }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  const back = page.waitForRequest((request) => request.url().startsWith(redirectUri));
  await page.getByRole('button', { name: 'Allow' }).click();
  const names = [...new URL((await back).url()).searchParams.keys()];
  expect(names.toSorted()).toEqual(['code', 'iss', 'state']);
});

interface Attempt {
  readonly page: Shown;
  readonly owner: Browser;
  /** Cookies. */
  readonly own: string;
  readonly foreign: string;
}

const without = (cookies: string): string =>
  cookies
    .split('; ')
    .filter((each) => !each.startsWith('__Host-'))
    .join('; ');

const noCode = { code: undefined };

describe('an upstream that fails', () => {
  it.each<[string, Bend, string]>([
    ['says that they refused', { redirect: { error: 'access_denied', ...noCode } }, 'access_denied'],
    ['says so by user_denied', { redirect: { error: 'user_denied', ...noCode } }, 'access_denied'],
    ['has an error with a script', { redirect: { error: '<script>', ...noCode } }, 'server_error'],
    ['answers as another issuer', { redirect: { iss: 'https://evil.example' } }, 'server_error'],
    ['answers without its issuer', { redirect: { iss: undefined } }, 'server_error'],
    ['has an ID token for another client', { claims: { aud: 'somebody-else' } }, 'server_error'],
    ['says that the token is another’s', { introspection: { client_id: 'another' } }, 'server_error'],
    ['has a token of another client', { token: { access_token: foreignJwt() } }, 'server_error'],
    ['grants none of the scopes', { token: { scope: 'openid' } }, 'access_denied'],
    ['redirects the exchange', { fault: { path: '/token', status: 'redirects' } }, 'server_error'],
    ['hangs', { fault: { path: '/token', status: 'hangs' } }, 'server_error'],
  ])('TP-9: the client is told in our words that the upstream %s', async (_what, next, error) => {
    bend(next);
    const started = flow.events.filter(({ kind }) => kind === 'session_started').length;
    const { back } = await authorize(flow);
    expect([back.get('error'), back.get('state'), back.get('iss'), back.get('code')]).toEqual([
      error,
      'the-state',
      flow.issuer,
      null,
    ]);
    expect(back.toString()).not.toMatch(/<|%3C|evil/i);
    expect(flow.events.filter(({ kind }) => kind === 'session_started')).toHaveLength(started);
    expect(requestsTo('/elsewhere')).toHaveLength(0);
  });

  it('TP-9: with an unknown authority or another issuer is named to the operator', async () => {
    const other = await ofTest(startFlow({}, { authorities: undefined }));
    const { back } = await authorize(other);
    expect(back.get('error')).toBe('temporarily_unavailable');
    expect(other.events.findLast(({ kind }) => kind === 'upstream_unavailable')?.problem).toMatch(
      /CERT|SIGNATURE/,
    );
    const wrong = await ofTest(startFlow());
    wrong.upstream.state.bend = { metadata: { issuer: 'https://other.example' } };
    expect((await authorize(wrong)).back.get('error')).toBe('server_error');
    expect(wrong.events.at(-1)?.problem).toMatch(/"https:\/\/other.example"; expected: "https:/);
  });

  it('TP-9: is named to the operator in its own words, without what could be a secret', async () => {
    const code = 'k3j4h5k6j7h8g9f0a1b2';
    const words = `the redirect_uri is not registered (${code})`;
    for (const error of ['unauthorized_client', 'access_denied']) {
      bend({ redirect: { error, error_description: words, code: undefined } });
      const { back } = await authorize(flow);
      expect(back.get('error_description')).toContain('the upstream');
      expect(back.toString()).not.toContain('registered');
      const { problem } = flow.events.findLast(({ kind }) => kind === 'refused') ?? {};
      expect(problem).toBe(`the error "${error}": "the redirect_uri is not registered (…)"`);
    }
  });

  it('TP-9: with another state gets a page, and the client hears nothing', async () => {
    const browser = flow.browser();
    const page = await browser.open(authorizationOf(flow).url);
    await browser.submit(page, { decision: 'allow' }, '/authorize');
    const state = new URL(browser.sentTo).searchParams.get('state') ?? '';
    const answer = await browser.open(
      `${flow.issuer}/login/callback?code=c&state=${state}x&error=%3Cscript%3E`,
    );
    expect([answer.status, answer.text.includes('script')]).toEqual([400, false]);
    expect(requestsTo('/token')).toHaveLength(0);
  });
});

function foreignJwt(): string {
  return `${part({ alg: 'none' })}.${part({ client_id: 'somebody-else' })}.`;
}
