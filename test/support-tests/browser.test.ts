/** The real browser, in this process and as a command, against the world of right servers and the bent one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import * as client from 'openid-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { throwAwayCertificates } from '../../src/serve/certificate.ts';
import { type BentWorld, openBentWorld } from '../support/bent/world.ts';
import { openBentServer } from '../support/bent/server.ts';
import { type BrowserAgent, browserCommand } from '../support/browsers/browser-command.ts';
import { type BrowserProfile, openBrowserProfile } from '../support/browsers/browser.ts';
import { browserHere } from '../support/browsers/browser-here.ts';
import { until } from '../support/home.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { openWorld, type TestWorld } from '../support/world.ts';
import { register } from '../support/sign-in.ts';
import { freeRedirect } from '../support/servers/port.ts';
import { configured } from './bent-client.ts';

let world: TestWorld;
let bent: BentWorld;
let browser: BrowserProfile;
/** What the loopback address received and what it answers. */
const loopback = { origin: '', requests: [] as URL[], status: 200 };
const listener = createServer((request, response) => {
  const url = new URL(request.url ?? '/', loopback.origin);
  if (url.pathname === '/callback') loopback.requests.push(url);
  response.writeHead(loopback.status, { 'content-type': 'text/html' }).end('<h1>Signed in</h1>');
});

beforeAll(async () => {
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  loopback.origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  world = await openWorld();
  bent = await openBentWorld();
});
afterAll(async () => {
  await browser?.close();
  await Promise.all([world.close(), bent.close()]);
  listener.close();
  listener.closeAllConnections();
});

async function authorizationUrl(config: client.Configuration, resource: string): Promise<string> {
  return client.buildAuthorizationUrl(config, {
    redirect_uri: `${loopback.origin}/callback`,
    code_challenge: await client.calculatePKCECodeChallenge(client.randomPKCECodeVerifier()),
    code_challenge_method: 'S256',
    state: 'the-state',
    scope: 'read',
    resource,
  }).href;
}

async function demoUrl(): Promise<string> {
  const config = await register(world);
  return (await authorizationUrl(config, world.protectedServer.resource)).replace(
    'scope=read',
    'scope=notes%3Aread',
  );
}

async function bentUrl(): Promise<string> {
  const added = bent.authorizationServer.addClient({ redirectUris: [`${loopback.origin}/callback`] });
  return authorizationUrl(await configured(bent, added), bent.protectedServer.url);
}

/** As a daemon starts it: words at spaces, the URL last, an environment with next to nothing. */
async function run(agent: BrowserAgent, caFile: string, url: string, ...flags: string[]) {
  const home = mkdtempSync(path.join(tmpdir(), 'keyturn-agent-'));
  const [program = '', ...args] = browserCommand(agent, caFile, ...flags).split(' ');
  const child = spawn(program, [...args, url], {
    env: { PATH: process.env['PATH'], HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  const left = readdirSync(home);
  rmSync(home, { recursive: true });
  return { out, err, code: code as number, left };
}

const clean = { out: '', err: '', code: 0, left: [] };
const last = () => loopback.requests.at(-1)?.searchParams;

describe('a browser profile', () => {
  beforeAll(async () => {
    const origins = [world.authorizationServer.issuer, bent.authorizationServer.issuer];
    browser = await openBrowserProfile({ ca: `${world.ca}\n${bent.ca}`, origins });
  });

  it('signs in and consents at the pages of the right server', async () => {
    const page = await browser.open(await demoUrl(), { account: 'bob' });
    expect(page).toMatchObject({ status: 200, text: 'Signed in' });
    expect(last()?.get('code')).toBeTypeOf('string');
    expect(last()?.get('state')).toBe('the-state');
  });

  it('denies when it is told to', async () => {
    await browser.open(await demoUrl(), { deny: true });
    expect(last()?.get('error')).toBe('access_denied');
  });

  it('does not wait for a loopback address where nobody listens', async () => {
    bent.authorizationServer.settings.consent = 'page';
    const nobody = await freeRedirect();
    const { clientId } = bent.authorizationServer.addClient({ redirectUris: [nobody] });
    const url = new URL(await bentUrl());
    url.searchParams.set('client_id', clientId);
    url.searchParams.set('redirect_uri', nobody);
    await expect(browser.open(url.href)).rejects.toThrow('a page did not load: net::ERR_CONNECTION_REFUSED');
  });

  it('opens no server that the authority does not vouch for', async () => {
    const stranger = await openBentServer({ certificates: await throwAwayCertificates() });
    await expect(browser.open(stranger.origin)).rejects.toThrow('ERR_CERT_AUTHORITY_INVALID');
    expect(stranger.requests).toEqual([]);
    await expect(openBrowserProfile({ ca: world.ca, origins: [stranger.origin] })).rejects.toThrow();
    await stranger.close();
  });
});

describe('the browser as a command', () => {
  it('signs in at the pages of the right server and leaves nothing in the home', async () => {
    expect(await run('chromium-agent', world.caFile, await demoUrl(), '--account', 'bob')).toEqual(clean);
    expect(last()?.get('code')).toBeTypeOf('string');
  });

  it('gets through the consent page of the bent server', async () => {
    bent.authorizationServer.settings.consent = 'page';
    expect(await run('chromium-agent', bent.caFile, await bentUrl())).toEqual(clean);
    expect(last()?.get('iss')).toBe(bent.authorizationServer.issuer);
    expect(last()?.has('code')).toBe(true);
  });

  it('brings a denial of the bent consent page', async () => {
    bent.authorizationServer.settings.consent = 'page';
    expect(await run('chromium-agent', bent.caFile, await bentUrl(), '--deny')).toEqual(clean);
    expect(last()?.get('error')).toBe('access_denied');
  });

  it('fails in one sentence when the loopback page refuses, or the server does', async () => {
    bent.authorizationServer.settings.consent = 'auto';
    loopback.status = 400;
    const refused = await run('chromium-agent', bent.caFile, await bentUrl());
    loopback.status = 200;
    expect(refused).toMatchObject({ err: 'The loopback page answered 400.\n', code: 1 });
    const unknown = `${bent.authorizationServer.issuer}/authorize?client_id=nobody&state=the-state`;
    const ended = await run('chromium-agent', bent.caFile, unknown);
    expect(ended).toMatchObject({
      code: 1,
      err: 'The sign-in ended at 127.0.0.1, not at the loopback address.\n',
    });
  });
});

describe('a browser in the process of the test', () => {
  it('follows the address that its command was given, and tells nobody how that ended', async () => {
    bent.authorizationServer.settings.consent = 'auto';
    const before = loopback.requests.length;
    for (const url of [
      await bentUrl(),
      `${bent.protectedServer.url}?state=s`,
      'https://127.0.0.1:9/?state=s',
    ])
      await openHere(commandOf(bent), url);
    await until('the code is brought', () => loopback.requests.length > before);
    expect(last()?.has('code')).toBe(true);
  });

  it('is waited for when it closes, and gets the flags', async () => {
    const begun = Promise.withResolvers<unknown[]>();
    const ends = Promise.withResolvers<void>();
    const here = browserHere(path.join(temporaryFolder(), 'tabs'), (...given) => {
      begun.resolve(given);
      return ends.promise;
    });
    await openHere(here.command('--account bob --deny'), 'https://a.test/?state=s');
    expect(await begun.promise).toEqual(['https://a.test/?state=s', { account: 'bob', deny: true }]);
    let isClosed = false;
    const closing = here.close().then(() => (isClosed = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isClosed).toBe(false);
    ends.resolve();
    await closing;
  });

  it('ends with its world where a server never answers', async () => {
    const other = await openBentWorld();
    const arrived = Promise.withResolvers<void>();
    other.authorizationServer.bend.authorizeAnswer = () => {
      arrived.resolve();
      return 'hang';
    };
    const added = other.authorizationServer.addClient({ redirectUris: [`${loopback.origin}/callback`] });
    await openHere(
      commandOf(other),
      await authorizationUrl(await configured(other, added), other.protectedServer.url),
    );
    await arrived.promise;
    await other.close();
  });
});

const commandOf = ({ env }: BentWorld): string => env['KEYTURN_BROWSER'] ?? '';

/** As a daemon starts its browser, where not even PATH is known. */
async function openHere(command: string, url: string): Promise<void> {
  const [program = '', ...args] = command.split(' ');
  const [code] = await once(spawn(program, [...args, url], { env: {}, stdio: 'inherit' }), 'exit');
  expect(code).toBe(0);
}
