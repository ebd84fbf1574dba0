/** The pages that a user sees at the authorization server, and who may answer them. */
import { createServer, type RequestListener } from 'node:http';
import express from 'express';
import type { BrowserContext, Page } from 'playwright';
import type { Page as Shown } from '../browser.ts';
import { describe, expect, it } from 'vitest';
import { listenOnLoopback } from '../../../src/serve/tls-listener.ts';
import { developmentLogin, memoryStorage } from '../../../src/server/authorization/index.ts';
import { accessibilityFaults } from '../../support/browsers/accessibility.ts';
import { openBrowserProfile } from '../../support/browsers/browser.ts';
import {
  authorizationOf,
  editor,
  publicClient,
  redirectUri,
  refreshOf,
  register,
  registered,
} from './rig.ts';
import { signIn, startServer, tokenFor, type Asked } from './rig.ts';
import { portOf } from '../../support/servers/loopback-server.ts';
import { ofFile, ofTest } from '../../support/lasting.ts';

const rig = ofFile(async () => startServer());

async function atConsent(asked: Asked = {}) {
  const browser = rig.browser();
  const login = await browser.open(authorizationOf(rig, asked).url);
  return { browser, page: await browser.submit(login, { login: 'alice' }) };
}

describe('the consent page', () => {
  it('AS-17: names app, account, destination, resource and each scope in words', async () => {
    const { page } = await atConsent({ scope: 'notes:read notes:write' });
    const said = page.text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
    for (const words of [
      'Editor',
      'alice',
      new URL(redirectUri).host,
      'Notes',
      'https://notes.example/mcp',
      'Read your notes',
      'Change your notes',
      'keeps this access while you are away, until 30 days after its last use',
    ]) {
      expect(said).toContain(words);
    }
  });

  it('AS-23: warns of an app whose redirects all lead to this machine, and of no other', async () => {
    expect((await atConsent()).page.text).toContain('Take care');
    const redirect_uri = 'https://app.example/callback';
    const client_id = await registered(rig, { redirect_uris: [redirectUri, redirect_uri] });
    expect((await atConsent({ client_id, redirect_uri })).page.text).not.toContain('Take care');
  });

  it('AS-18: can’t be framed, kept or scripted', async () => {
    const { headers, text } = (await atConsent()).page;
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(text).not.toMatch(/<script|\son\w+=/i);
    // A fragment of the address could give such a button the keyboard.
    expect(text).not.toMatch(/<button[^>]*\s(?:id|autofocus)\b/i);
  });

  it.each<[string, Record<string, string>, Record<string, string>, RegExp]>([
    ['without the page’s token', { form_token: '' }, {}, /step\.formToken/],
    ['from a page of another origin', {}, { origin: 'https://evil.example' }, /another origin/],
    ['that the browser calls cross-site', {}, { 'sec-fetch-site': 'cross-site' }, /another origin/],
  ])('AS-18: takes no approval %s', async (_what, fields, headers, problem) => {
    const { browser, page } = await atConsent();
    const answer = await browser.submit(page, { decision: 'allow', ...fields }, undefined, headers);
    expect([answer.status, browser.sentTo]).toEqual([403, '']);
    const refused = { kind: 'refused', clientId: editor, problem: expect.stringMatching(problem) };
    expect(rig.events.at(-1)).toMatchObject(refused);
  });

  it('AS-18: takes no approval from another browser that knows address and token', async () => {
    const { page } = await atConsent();
    const other = await atConsent();
    const answerWith = async (cookie: string) => {
      const thief = rig.browser();
      const { status } = await thief.submit(page, { decision: 'allow' }, undefined, { cookie });
      return [status, thief.sentTo];
    };
    expect(await answerWith('')).toEqual([400, '']);
    expect(await answerWith(other.browser.jar.header(new URL(other.page.url)))).toEqual([403, '']);
  });

  it('shows a hostile name as text, without a direction that turns the page around', async () => {
    const client_name = '<img src=x onerror=alert(1)>\u202Elive';
    const { text } = (await atConsent({ client_id: await registered(rig, { client_name }) })).page;
    expect(text).not.toContain('<img');
    expect(text).not.toContain('\u202E');
    expect(text).toContain('Nobody checked that name');
  });

  it('gives its cookies to this server only, and never to scripts', async () => {
    const first = await rig.request(authorizationOf(rig).url);
    const cookies = first.headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(0);
    for (const cookie of cookies) {
      expect(cookie).toMatch(/;\s*secure/i);
      expect(cookie).toMatch(/;\s*httponly/i);
      expect(cookie).toMatch(/;\s*samesite=lax/i);
      expect(cookie).not.toMatch(/;\s*domain=/i);
    }
  });
});

describe('every answer', () => {
  /** Why a page could show this answer in a frame. */
  function holes({ status, headers }: Pick<Shown, 'status' | 'headers'>): readonly string[] {
    const policy = headers.get('content-security-policy') ?? '';
    return [
      ...(policy.includes("frame-ancestors 'none'") ? [] : [`${status}: policy ${policy}`]),
      ...(headers.get('x-frame-options') === 'DENY' ? [] : [`${status}: no X-Frame-Options`]),
    ];
  }

  it('AS-18: refuses to be framed: the provider’s own page at a change of account too', async () => {
    const { browser, page } = await atConsent();
    await browser.submit(page, { decision: 'allow' });
    const login = await browser.open(authorizationOf(rig, { prompt: 'login' }).url);
    const changed = await browser.submit(login, { login: 'bob' });
    expect(changed.text).toContain('/session/end/confirm');
    expect([changed.status, ...holes(changed)]).toEqual([200]);
  });

  it.each([
    ['metadata', '/.well-known/oauth-authorization-server', 200],
    ['an address that there is not', '/nothing', 404],
    ['an authorization that can’t be', '/auth?client_id=nobody', 400],
  ])('refuses to be framed: %s', async (_what, path, status) => {
    const answer = await rig.request(path);
    expect([answer.status, ...holes(answer)]).toEqual([status]);
  });
});

/** A consent page in a tab of its own, whose time stands still and onto which the pointer never came. */
async function untouchedConsent(context: BrowserContext, by: 'mouse' | 'finger') {
  const page = await context.newPage();
  const browser = await context.newCDPSession(page);
  await browser.send('Animation.enable');
  await browser.send('Animation.setPlaybackRate', { playbackRate: 0 });
  await page.emulateMedia({ reducedMotion: 'reduce' });
  // The screen then has no pointer that hovers.
  await browser.send('Emulation.setTouchEmulationEnabled', { enabled: by === 'finger' });
  await page.goto(authorizationOf(rig, { prompt: 'consent' }).url);
  // The pages of a headless browser lie in one window: the pointer would be where it clicked in the one before.
  await browser.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x: -9, y: -9 });
  const allow = page.getByRole('button', { name: 'Allow' });
  const box = await allow.boundingBox();
  const [x, y] = [(box?.x ?? 0) + 5, (box?.y ?? 0) + 5];
  // Counts the answers, and sends none.
  await page.evaluate(
    'answers = 0; addEventListener("submit", (event) => { answers += 1; event.preventDefault(); })',
  );
  const answers = async () => page.evaluate<number>('answers');
  return {
    /** A press on "Allow", which no move of a pointer announced: how many answers there were since the beginning. */
    async press() {
      for (const type of ['mousePressed', 'mouseReleased'] as const)
        await browser.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
      return answers();
    },
    async type() {
      await allow.focus();
      await page.keyboard.press('Enter');
      return answers();
    },
    /** To the end of whatever the page waits for. */
    pass: async () => page.evaluate('document.getAnimations().forEach((each) => each.finish())'),
  };
}

describe('the pages in a real browser', () => {
  /** To this browser every host of the domain is this machine. */
  const domain = 'company.test';
  const browser = ofFile(async () =>
    openBrowserProfile({ ca: rig.certificates.ca, origins: [rig.origin], domain }),
  );

  /** The only page, in a browser whose cookies are cleared. */
  async function newPage(): Promise<Page> {
    const context = browser.page.context();
    const page = await context.newPage();
    for (const other of context.pages()) if (other !== page) await other.close();
    await context.clearCookies();
    return page;
  }

  it('AS-18: know no session that a page of a neighbouring host put there', async () => {
    const { certificates } = rig;
    const listener = await listenOnLoopback(certificates, 0);
    const issuer = `https://login.${domain}:${listener.port}`;
    const uri = 'https://app.example/callback';
    const clients = [{ clientId: editor, name: 'Editor', redirectUris: [uri] }];
    // Both hosts are this machine.
    const accounts = { ...developmentLogin(['alice', 'bob']), requireUsableAt: () => undefined };
    const behind = await startServer({ issuer, clients, accounts, storage: memoryStorage() }, '', {
      certificates,
      listener,
    });
    let planted: string[] = [];
    const evil = createServer((_request, response) => response.setHeader('set-cookie', planted).end());
    const port = await portOf(evil);
    const page = await newPage();
    try {
      // Somebody else’s session, from a browser of theirs.
      const { url } = authorizationOf({ issuer }, { redirect_uri: uri });
      await page.goto(url);
      await page.getByLabel('Account').fill('bob');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('You are signed in as bob').waitFor();
      const session = (await page.context().cookies()).filter(({ name }) => /session/.test(name));
      expect(session).toHaveLength(2);
      await page.context().clearCookies();
      planted = session.map(({ name, value }) => `${name}=${value}; Domain=${domain}; Path=/`);
      await page.goto(`http://evil.${domain}:${port}/`);
      await page.goto(url);
      expect(await page.getByRole('heading').first().innerText()).toBe('Sign in');
    } finally {
      await behind.close();
    }
  });

  it('AS-18: ignore the second press of a double click that uncovered them', async () => {
    const page = await newPage();
    await page.goto(authorizationOf(rig).url);
    await page.getByLabel('Account').fill('alice');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('You are signed in as alice').waitFor();

    // A finger can't be seen before it presses: the page waits from its first moment.
    const shown = await untouchedConsent(page.context(), 'finger');
    expect(await shown.press()).toBe(0);
    await shown.pass();
    expect(await shown.press()).toBe(1);

    // It lay ready behind another page, which goes away under the pointer.
    const ready = await untouchedConsent(page.context(), 'mouse');
    await ready.pass();
    expect(await ready.press()).toBe(0);
    await ready.pass();
    expect(await ready.press()).toBe(1);
    expect(await (await untouchedConsent(page.context(), 'mouse')).type()).toBe(1);
  });

  it('have no fault that axe finds, and bring a user with a keyboard to the end', async () => {
    const page = await newPage();
    await page.goto(authorizationOf(rig, { client_id: editor }).url);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel('Account').focus();
    await page.keyboard.type('alice');
    // Enter in the field would take what the list beside it suggests.
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Allow Editor to use Notes?' }).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const back = page.waitForRequest((request) => request.url().startsWith(redirectUri));
    await page.getByRole('button', { name: 'Allow' }).focus();
    await page.keyboard.press('Enter');
    expect(new URL((await back).url()).searchParams.get('iss')).toBe(rig.issuer);
  });
});

it.each<[string, () => never, RegExp]>([
  ['throws', () => expect.fail('no base ?key=a1'), /^AssertionError: "no base \?…" at .*pages\.test/],
  ['answers a string', () => 'alice' as never, /^accounts\.signIn answered no page, redirect or account\.$/],
])('a sign-in of the author’s own that %s is told as the cause', async (_how, signInOf, problem) => {
  const own = await startServer({ accounts: { signIn: signInOf, isKnown: () => true } });
  const accept = 'text/html,*/*';
  const { url } = authorizationOf(own);
  const { status, text } = await own.browser().open(url, undefined, undefined, { accept });
  await own.close();
  const told = { kind: 'failed', problem: expect.stringMatching(problem) as unknown };
  expect([status, own.events, text]).toEqual([500, [told], expect.stringContaining('error of its own')]);
});

it('an error inside the provider is told as the cause', async () => {
  const accounts = { ...developmentLogin(['alice']), isKnown: () => !isAway || expect.fail('no base') };
  let isAway = false;
  const own = await ofTest(startServer({ accounts }));
  const { body } = await signIn(own);
  isAway = true;
  expect((await tokenFor(own, refreshOf(body['refresh_token']))).body['error']).toBe('server_error');
  expect(own.events.at(-1)).toMatchObject({
    kind: 'failed',
    clientId: editor,
    problem: expect.stringContaining('"no base" at'),
  });
});

const parsers = [express.json(), express.urlencoded(), express.text()];

it.each<[string, string, (handler: RequestListener) => RequestListener]>([
  ['behind parsers of bodies', '', (handler) => express().use(...parsers, handler)],
  ['at the path of its issuer', '/auth', (handler) => express().use('/auth', handler)],
])('a server in Express works %s', async (_where, path, mount) => {
  const own = await ofTest(startServer({}, path, undefined, mount));
  expect([(await signIn(own)).status, (await register(own, publicClient)).status]).toEqual([200, 201]);
});

it('a server says what to do if another handler read the body', async () => {
  const readBefore =
    (handler: RequestListener): RequestListener =>
    (request, response) =>
      void request.on('end', () => handler(request, response)).resume();
  const own = await ofTest(startServer({}, '', undefined, readBefore));
  expect((await register(own, publicClient)).status).toBe(500);
  expect(own.events.at(-1)?.problem).toMatch(/set request\.body/);
});
