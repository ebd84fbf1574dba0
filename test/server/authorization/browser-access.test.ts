/** What reaches the authorization server through a proxy, and from pages in a browser. */
import { describe, expect, it } from 'vitest';
import { publicClient, register, startServer } from './rig.ts';
import { ofFile } from '../../support/lasting.ts';

const web = { clientId: 'web-app', redirectUris: ['https://app.example/callback'] };

describe('the limit of registrations', () => {
  const statuses = async (trustedProxies: readonly string[], senders: readonly string[]) => {
    const rig = await startServer({ registrationLimit: { requests: 2, seconds: 3600 }, trustedProxies });
    const found: number[] = [];
    for (const sender of senders)
      found.push((await register(rig, publicClient, { 'x-forwarded-for': sender })).status);
    await rig.close();
    return found;
  };

  it('AS-30: counts each client of a trusted proxy by the address from the proxy', async () => {
    const senders = ['192.0.2.1', '192.0.2.2', '192.0.2.1', '9.9.9.9, 192.0.2.1', '192.0.2.2', '192.0.2.2'];
    expect(await statuses(['127.0.0.0/8'], senders)).toEqual([201, 201, 201, 429, 201, 429]);
  });

  it('AS-30: counts addresses of one IPv6 network together', async () => {
    const senders = ['2001:db8::1', '2001:db8::2', '2001:db8::3'];
    expect(await statuses(['127.0.0.1'], senders)).toEqual([201, 201, 429]);
  });

  it('AS-30: is sixteen times as high for the networks of one IPv6 site together', async () => {
    const networks = Array.from({ length: 33 }, (_, number) => `2001:db8:1:${number.toString(16)}::1`);
    const answers = await statuses(['127.0.0.1'], [...networks, '2001:db8:2::1']);
    expect(answers.slice(0, 32)).toEqual(networks.slice(0, 32).map(() => 201));
    expect(answers.slice(32)).toEqual([429, 201]);
  });
});

it.each<[string, string, string]>([
  ['for tokens', 'POST', '/token'],
  ['for revocations', 'POST', '/token/revocation'],
  ['for the change of a registration', 'PUT', '/reg/somebody'],
])(
  'AS-30: the limit of requests %s ends by itself, for one address and no other',
  async (_what, method, path) => {
    let now = Date.now();
    const requestLimit = { requests: 3, seconds: 60 };
    const rig = await startServer({ requestLimit, trustedProxies: ['127.0.0.1'], now: () => now });
    const body = new URLSearchParams({ token: 'guessed' });
    const ask = async (sender: string) =>
      rig.request(path, { method, headers: { 'x-forwarded-for': sender }, body });
    const answered = [];
    for (let sent = 0; sent < 3; sent += 1) answered.push((await ask('192.0.2.1')).status);
    expect(answered).not.toContain(429);
    const refused = await ask('192.0.2.1');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '20']);
    expect((await ask('192.0.2.2')).status).not.toBe(429);
    const metadata = await rig.request('/.well-known/oauth-authorization-server', {
      headers: { 'x-forwarded-for': '192.0.2.1' },
    });
    expect(metadata.status).toBe(200);
    now += 20_000;
    expect([(await ask('192.0.2.1')).status, (await ask('192.0.2.1')).status]).toEqual([answered[0], 429]);
    await rig.close();
  },
);

describe('a page of another origin', () => {
  const rig = ofFile(async () => startServer({ clients: [web] }));

  const readers = async (path: string, origin: string, body?: URLSearchParams) => {
    const { headers } = await rig.request(path, {
      headers: { origin },
      ...(body ? { method: 'POST', body } : {}),
    });
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    return headers.get('access-control-allow-origin');
  };

  it('AS-31: reads an answer of the token endpoint only from the client’s own origin', async () => {
    const form = { grant_type: 'authorization_code', code: 'x', client_id: web.clientId };
    const body = new URLSearchParams(form);
    expect(await readers('/token', 'https://app.example', body)).toBe('https://app.example');
    expect(await readers('/token', 'https://evil.example', body)).toBeNull();
    expect(await readers('/token', 'null', body)).toBeNull();
  });

  it('AS-31: registers a client, after its browser asked', async () => {
    const origin = 'https://any.example';
    const asked = await rig.request('/reg', {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    });
    expect([asked.status, asked.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'authorization, content-type',
    ]);
    const { status, headers } = await register(rig, publicClient, { origin });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([201, '*']);
  });

  it('AS-31: reads no page of a sign-in', async () => {
    const { headers } = await rig.request('/interaction/any', { headers: { origin: 'https://app.example' } });
    expect(headers.get('access-control-allow-origin')).toBeNull();
    const auth = await rig.request('/auth?client_id=web-app', { headers: { origin: 'https://app.example' } });
    expect(auth.headers.get('access-control-allow-origin')).toBeNull();
  });
});
