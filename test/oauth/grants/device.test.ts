/** The device authorization grant, at endpoints that behave and others. */
import { offersDeviceGrant } from '../../../src/oauth/discovery/authorization-server.ts';
import { describe, expect, it } from 'vitest';

import { Unreachable } from '../../../src/base/errors.ts';
import { pollDeviceAuthorization, startDeviceAuthorization } from '../../../src/oauth/grants/device.ts';
import type { DeviceRequest } from '../../../src/oauth/grants/device.ts';
import { registrationAt, serverAt } from '../parties.ts';
import { everyWordOf, refusalOf } from '../refusal.ts';
import { deadOrigin, now, siteOfFile } from '../site.ts';
import type { Page } from '../site.ts';

const resource = 'https://server.example/mcp';

const site = await siteOfFile();

const request = (changes: Partial<DeviceRequest> = {}): DeviceRequest => ({
  server: serverAt(site.origin, { deviceAuthorizationEndpoint: `${site.origin}/device` }),
  registration: registrationAt(site.origin),
  resource,
  scope: ['a', 'b'],
  ...changes,
});

const good = () => ({
  device_code: 'dev1ce',
  user_code: 'WDJB-MJHT',
  verification_uri: `${site.origin}/code`,
  expires_in: 900,
  interval: 7,
});

const start = (changes: Partial<DeviceRequest> = {}) => startDeviceAuthorization(request(changes), site.http);
const sent = () => Object.fromEntries(new URLSearchParams(site.asked[0]?.body));

describe('the start', () => {
  it('P-6: sends client, scope and resource, and gets a code for the person', async () => {
    site.lay('/device', {
      body: { ...good(), verification_uri_complete: `${site.origin}/code?c=WDJB-MJHT` },
    });
    expect(await start()).toEqual({
      deviceCode: 'dev1ce',
      userCode: 'WDJB-MJHT',
      verificationUri: `${site.origin}/code`,
      verificationUriComplete: `${site.origin}/code?c=WDJB-MJHT`,
      expiresAt: now + 900_000,
      interval: 7,
    });
    expect(sent()).toEqual({ client_id: 'client-1.a_b', scope: 'a b', resource });
  });

  it.each([
    ['an absent interval', { interval: undefined }, { interval: 5 }],
    ['an interval of null', { interval: null }, { interval: 5 }],
    ['an interval as text', { interval: '3' }, { interval: 3 }],
    ['an interval of 0', { interval: 0 }, { interval: 5 }],
    ['an interval of -1', { interval: -1 }, { interval: 5 }],
    ['an interval of 0.1', { interval: 0.1 }, { interval: 1 }],
    ['an interval of 1e9', { interval: 1e9 }, { interval: 300 }],
    ['an absent lifetime', { expires_in: undefined }, { expiresAt: now + 600_000 }],
    ['a lifetime of "soon"', { expires_in: 'soon' }, { expiresAt: now + 600_000 }],
    ['a lifetime of 1e12', { expires_in: 1e12 }, { expiresAt: now + 3_600_000 }],
  ])('limits %s', async (_what, changes, expected) => {
    site.lay('/device', { body: { ...good(), ...changes } });
    expect(await start()).toMatchObject(expected);
  });

  it('accepts a page over http on loopback only if that is allowed', async () => {
    const page = 'http://127.0.0.1:8080/code';
    site.lay('/device', { body: { ...good(), verification_uri: page } });
    expect((await refusalOf(start)).reason).toBe('insecure_url');
    const lenient = { ...site.http, allowInsecureLoopback: true };
    expect(await startDeviceAuthorization(request(), lenient)).toMatchObject({ verificationUri: page });
  });

  it.each(['javascript:alert(1)', 'http://server.example/code', 'file:///code', 'data:text/html,x', '/code'])(
    'P-6: refuses the page %s',
    async (page) => {
      for (const field of ['verification_uri', 'verification_uri_complete']) {
        site.lay('/device', { body: { ...good(), [field]: page } });
        expect((await refusalOf(start)).reason).toBe('insecure_url');
      }
    },
  );

  it.each([
    { user_code: 'a\u001b[2Jb' },
    { user_code: 'a\nb' },
    { user_code: '\u202eabc' },
    { user_code: 'x'.repeat(65) },
    { user_code: '' },
    { user_code: undefined },
    { device_code: '' },
    { device_code: 7 },
    { verification_uri: null },
  ])('refuses an answer with %j', async (changes) => {
    site.lay('/device', { body: { ...good(), ...changes } });
    const refusal = await refusalOf(start);
    expect(refusal.reason).toBe('login_failed');
    expect(everyWordOf(refusal)).not.toMatch(/dev1ce|WDJB|\u001b|\u202e/);
  });

  it.each<[string, Page, string]>([
    ['invalid_client', { status: 401, body: { error: 'invalid_client' } }, 'client_rejected'],
    ['invalid_scope', { status: 400, body: { error: 'invalid_scope' } }, 'scope_insufficient'],
    ['invalid_target', { status: 400, body: { error: 'invalid_target' } }, 'resource_mismatch'],
    ['a 503', { status: 503, headers: { 'retry-after': '9' } }, 'authorization_server_unreachable'],
    [
      'a web page',
      { headers: { 'content-type': 'text/html' }, body: '<html>' },
      'authorization_server_unreachable',
    ],
    ['a redirect', { status: 307, headers: { location: '/other' } }, 'authorization_server_unreachable'],
  ])('gives a reason after %s', async (_what, page, reason) => {
    site.lay('/device', page);
    expect((await refusalOf(start)).reason).toBe(reason);
    expect(site.asked).toHaveLength(1);
  });

  it('refuses a device sign-in if the server offers no such endpoint', async () => {
    expect((await refusalOf(() => start({ server: serverAt(site.origin) }))).reason).toBe('metadata_invalid');
  });

  it('leaves the resource out of a device sign-in only with the override', async () => {
    site.lay('/device', { body: good() });
    await start({ overrides: { noResource: true } });
    expect(sent()).not.toHaveProperty('resource');
  });
});

describe('a step', () => {
  const authorization = () => ({
    deviceCode: 'dev1ce',
    userCode: 'WDJB-MJHT',
    verificationUri: `${site.origin}/code`,
    expiresAt: now + 1,
    interval: 5,
  });
  const step = (changes: Partial<DeviceRequest> = {}, interval = 5) =>
    pollDeviceAuthorization(authorization(), interval, request(changes), site.http);
  const error = (code: string, status = 400): Page => ({ status, body: { error: code } });

  it('sends the device code with client and resource, and ends with the tokens', async () => {
    site.lay('/token', {
      body: { access_token: 'acc3ss', token_type: 'Bearer', expires_in: 60, refresh_token: 'r' },
    });
    expect(await step()).toMatchObject({
      kind: 'granted',
      answer: { accessToken: 'acc3ss', refreshToken: 'r', scope: ['a', 'b'], expiresAt: now + 60_000 },
    });
    expect(sent()).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: 'dev1ce',
      client_id: 'client-1.a_b',
      resource,
    });
  });

  it('waits the same interval while the person is not done', async () => {
    site.lay('/token', error('authorization_pending'));
    expect(await step({}, 7)).toEqual({ kind: 'waiting', interval: 7 });
  });

  it('P-6: waits five seconds longer after slow_down', async () => {
    site.lay('/token', error('slow_down'));
    expect(await step({}, 7)).toEqual({ kind: 'waiting', interval: 12 });
  });

  it.each<[string, Page, number]>([
    ['a 500', { status: 500 }, 10],
    ['a 503 that names a time', { status: 503, headers: { 'retry-after': '60' } }, 60],
    ['a 429 with an error', { status: 429, body: { error: 'access_denied' } }, 10],
    ['a web page', { headers: { 'content-type': 'text/html' }, body: '<html>' }, 10],
  ])('P-6: waits longer and goes on after %s', async (_what, page, interval) => {
    site.lay('/token', page);
    expect(await step()).toMatchObject({ kind: 'waiting', interval, trouble: expect.any(Unreachable) });
  });

  it('waits longer and goes on if nothing listens', async () => {
    const away = serverAt(site.origin, { tokenEndpoint: `${await deadOrigin()}/token` });
    expect(await step({ server: away })).toMatchObject({ kind: 'waiting', interval: 10 });
  });

  it.each([
    ['expired_token', 'login_failed'],
    ['access_denied', 'access_denied'],
    ['invalid_grant', 'login_failed'],
    ['invalid_client', 'client_rejected'],
    ['something_new', 'login_failed'],
  ])('P-6: a device sign-in ends after %s', async (code, reason) => {
    site.lay('/token', error(code));
    const refusal = await refusalOf(step);
    expect(refusal.reason).toBe(reason);
    expect(everyWordOf(refusal)).not.toContain('dev1ce');
  });

  it('does not poll after the code has expired by our own clock', async () => {
    const late = { ...authorization(), expiresAt: now };
    const refusal = await refusalOf(() => pollDeviceAuthorization(late, 5, request(), site.http));
    expect(refusal.reason).toBe('login_failed');
    expect(site.asked).toEqual([]);
  });

  it('a poll refuses a token that is no Bearer token', async () => {
    site.lay('/token', { body: { access_token: 'acc3ss', token_type: 'mac' } });
    expect((await refusalOf(step)).reason).toBe('token_invalid');
  });
});

describe('the offer', () => {
  it('reads from the metadata whether the server offers the device grant', () => {
    const endpoint = { deviceAuthorizationEndpoint: 'https://issuer.example/device' };
    const grant = 'urn:ietf:params:oauth:grant-type:device_code';
    expect(offersDeviceGrant(serverAt('https://issuer.example'))).toBe(false);
    expect(offersDeviceGrant(serverAt('https://issuer.example', endpoint))).toBe(true);
    expect(
      offersDeviceGrant(serverAt('https://issuer.example', { ...endpoint, grantTypesSupported: [grant] })),
    ).toBe(true);
    expect(
      offersDeviceGrant(serverAt('https://issuer.example', { ...endpoint, grantTypesSupported: ['x'] })),
    ).toBe(false);
  });
});
