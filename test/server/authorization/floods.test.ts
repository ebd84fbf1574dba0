/** Strangers, and pages in somebody's browser, that would use up what others need of the authorization server. */
import { createHook } from 'node:async_hooks';
import type { ServerResponse } from 'node:http';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { throwAwayCertificates } from '../../../src/serve/certificate.ts';
import { listenOnLoopback } from '../../../src/serve/tls-listener.ts';
import { until } from '../../support/home.ts';
import { ofFile } from '../../support/lasting.ts';
import { authorizationOf, publicClient, register, startServer } from './rig.ts';

const certificates = await throwAwayCertificates();
const host = await listenOnLoopback(certificates, 0);

describe('documents of strangers', () => {
  /** Documents that were asked for and not sent yet. */
  const held = new Set<ServerResponse>();

  afterAll(() => host.close());
  host.serve(({ url = '' }, response) => {
    if (url.startsWith('/silent')) {
      held.add(response);
      response.once('close', () => held.delete(response));
      return;
    }
    const redirect_uris = ['http://127.0.0.1/callback'];
    const document = { client_id: host.origin + url, client_name: 'Published', redirect_uris };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  });
  const rig = ofFile(async () =>
    startServer({ authorities: certificates.ca, trustedProxies: ['127.0.0.1'] }),
  );

  const from = (address: string) => ({ 'x-forwarded-for': address });

  /** Each of them makes the server read so many documents that don't come. Answers when it reads or refused each. */
  async function hold(strangers: readonly string[], count: number): Promise<void> {
    let over = 0;
    for (const stranger of strangers) {
      for (let number = 0; number < count; number += 1) {
        const client_id = `${host.origin}/silent/${stranger}/${number}.json`;
        const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x', client_id });
        // On a slow machine the server has given some up by the time the last is asked for.
        void rig.request('/token', { method: 'POST', headers: from(stranger), body }).then(
          () => (over += 1),
          () => undefined,
        );
      }
    }
    await until('each is read or refused', () => held.size + over >= strangers.length * count || undefined);
  }

  const statusFor = async (address: string, client_id: string): Promise<number> =>
    (await rig.request(authorizationOf(rig, { client_id }).url, { headers: from(address) })).status;

  it('AS-15: are resolved without a thread that a silent name server would hold', async () => {
    const lookups: string[] = [];
    const hook = createHook({
      init(_id, type) {
        if (/^(?:GETADDRINFO|QUERY)REQWRAP$|^QUERYWRAP$/.test(type)) lookups.push(type);
      },
    }).enable();
    onTestFinished(() => void hook.disable());
    expect(await statusFor('192.0.2.4', 'https://client.invalid/app.json')).toBe(400);
    expect(new Set(lookups)).toEqual(new Set(['QUERYWRAP']));
  });

  it('AS-15: that never come keep nobody else from being known', async () => {
    await hold(['192.0.2.1'], 40);
    expect(await statusFor('192.0.2.2', `${host.origin}/good.json`)).toBe(303);
  });
});

it('AS-30: a page uses up no registrations and sign-ins of programs and tabs', async () => {
  const at = Date.now();
  const rig = await startServer({
    registrationLimit: { requests: 5, seconds: 3600 },
    requestLimit: { requests: 5, seconds: 3600 },
    now: () => at,
  });
  onTestFinished(() => rig.close());
  const auth = authorizationOf(rig).url;
  // As a browser sends what a page of another site loads and posts (test/server/page.test.ts has a real one).
  const asPicture = { 'sec-fetch-site': 'cross-site' };
  const asPage = { origin: 'http://localhost', ...asPicture };
  for (let sent = 0; sent < 301; sent += 1)
    await (await rig.request(`${auth}&nonce=${sent}`, { headers: asPicture })).body?.cancel();
  for (let sent = 0; sent < 6; sent += 1)
    for (const path of ['/reg', '/token']) await rig.request(path, { method: 'POST', headers: asPage });
  // They were counted: the next one of a page is refused.
  expect((await rig.request('/reg', { method: 'POST', headers: asPage })).status).toBe(429);
  expect((await rig.request(auth, { headers: asPage })).status).toBe(429);
  expect((await register(rig, publicClient)).status).toBe(201);
  const token = await rig.request('/token', { method: 'POST', body: new URLSearchParams() });
  expect(token.status).toBe(400);
  expect((await rig.browser().open(auth)).status).toBe(200);
});

it('AS-30: one address may ask for a bounded number of sign-in pages', async () => {
  const at = Date.now();
  const rig = await startServer({ now: () => at });
  onTestFinished(async () => rig.close());
  const ask = async (): Promise<number> => (await rig.request('/interaction/none?state=x&code=y')).status;
  const statuses = new Set<number>();
  for (let sent = 0; sent < 1800; sent += 100)
    for (const status of await Promise.all(Array.from({ length: 100 }, ask))) statuses.add(status);
  expect([...statuses]).toEqual([400]);
  expect(await ask()).toBe(429);
});

it('AS-30: each caller beyond a limit is told once in its time', async () => {
  let at = Date.now();
  const limit = { requests: 1, seconds: 60 };
  const limits = { registrationLimit: limit, requestLimit: limit, trustedProxies: ['127.0.0.1'] };
  const rig = await startServer({ ...limits, now: () => at });
  onTestFinished(async () => rig.close());
  const told = async (path: string, address: string): Promise<string[]> => {
    const headers = { 'x-forwarded-for': address };
    for (let sent = 0; sent < 4; sent += 1) await rig.request(path, { method: 'POST', headers, body: '' });
    return rig.events.splice(0).flatMap(({ error, problem }) => (error === busy ? [String(problem)] : []));
  };
  const busy = 'temporarily_unavailable';
  const beyond = (who: string, name: string) => [`rate_limited: more from ${who} than ${name} allows`];
  expect(await told('/reg', '192.0.2.1')).toEqual(beyond('192.0.2.1', 'registrationLimit'));
  expect(await told('/token', '192.0.2.1')).toEqual(beyond('192.0.2.1', 'requestLimit'));
  expect(await told('/token', '192.0.2.1')).toEqual([]);
  expect(await told('/token', '192.0.2.2')).toEqual(beyond('192.0.2.2', 'requestLimit'));
  at += 61_000;
  expect(await told('/token', '192.0.2.1')).toEqual(beyond('192.0.2.1', 'requestLimit'));
  // A whole site of IPv6 is one.
  const networks = Array.from({ length: 20 }, (_, n) => `2001:db8:0:${n}::1`);
  const sites = [];
  for (const network of networks) sites.push(...(await told('/token', network)));
  expect(sites.filter((problem) => problem.includes('/48'))).toHaveLength(1);
});
