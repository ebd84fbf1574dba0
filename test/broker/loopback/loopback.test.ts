/** The loopback redirect: it accepts the one right reply, and answers everything else with a 400. */
import { once } from 'node:events';
import { connect, createServer, Server } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { Loopback, type Receiver } from '../../../src/broker/loopback/loopback.ts';
import { freePort } from '../../support/servers/port.ts';
import { rawGet as send, type Sent } from '../../support/servers/raw-get.ts';
import { refusal } from '../rig.ts';

async function opened(loopback = new Loopback(), redirectUri?: string): Promise<Receiver> {
  const receiver = await loopback.open(redirectUri);
  onTestFinished(() => receiver.close());
  return receiver;
}

function withQuery(receiver: Receiver, query: string): string {
  return `${receiver.redirectUri}?${query}`;
}

const never = new AbortController().signal;

/** The right reply comes now, and is accepted. */
async function accepts(receiver: Receiver, awaited: ReturnType<Receiver['receive']>, sent: Sent = {}) {
  const answer = send(withQuery(receiver, 'code=right&state=right'), sent);
  const reply = await awaited;
  expect(reply.url.searchParams.get('code')).toBe('right');
  reply.show('done');
  expect(await answer).toMatchObject({ status: 200, page: expect.stringContaining('Signed in') });
}

describe('the listener', () => {
  it('takes the reply with the right state and shows its page when the sign-in is done', async () => {
    const receiver = await opened();
    await accepts(receiver, receiver.receive('right', never));
  });

  it('uses the literal address 127.0.0.1, and answers at [::1] as well', async () => {
    const receiver = await opened();
    expect(receiver.redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}\/callback$/);
    await accepts(receiver, receiver.receive('right', never), { address: '::1' });
  });

  const wrong: readonly [name: string, query: string, sent: Sent, path?: (own: string) => string][] = [
    ['another method', 'code=c&state=right', { method: 'POST' }],
    ['another path', 'code=c&state=right', {}, () => '/other'],
    ['a foreign Host (DNS rebinding)', 'code=c&state=right', { headers: { host: 'evil.example' } }],
    ['another state', 'code=c&state=wrong', {}],
    ['two states', 'code=c&state=right&state=right', {}],
    ['a very long target', `code=${'c'.repeat(9000)}&state=right`, {}],
  ];
  it.each(wrong)('answers 400 to %s and goes on', async (_name, query, sent, path) => {
    const receiver = await opened();
    const awaited = receiver.receive('right', never);
    const url = new URL(withQuery(receiver, query));
    if (path !== undefined) url.pathname = path(url.pathname);
    expect((await send(url, sent)).status).toBe(400);
    await accepts(receiver, awaited);
  });

  it.each([
    ['error=invalid_scope', 'invalid_scope'],
    ['error=%3Cb%3Ebad%3C/b%3E&state=', '<b>bad</b>'],
    ['code=c&state=', ''],
  ])('reports %s, which has no state, and never takes it', async (query, error) => {
    const receiver = await opened();
    const reported: string[] = [];
    const awaited = receiver.receive('right', never, (code) => void reported.push(code));
    await send(withQuery(receiver, query), { headers: { 'sec-fetch-dest': 'iframe' } });
    await send(withQuery(receiver, query), { headers: { host: 'evil.example' } });
    expect(reported).toEqual([]);
    const { status, page } = await send(withQuery(receiver, query));
    expect({ status, reported }).toEqual({ status: 400, reported: [error] });
    expect(page).toContain('The answer has no state');
    expect(page).toContain(error.replaceAll('<', '&#60;').replaceAll('>', '&#62;'));
    expect(page).not.toContain('<b>');
    await accepts(receiver, awaited);
  });

  it('ignores a second reply, both while the first is processed and afterwards', async () => {
    const receiver = await opened();
    const awaited = receiver.receive('right', never);
    const url = withQuery(receiver, 'code=c&state=right');
    const answer = send(url);
    const reply = await awaited;
    expect((await send(url)).status).toBe(400);
    reply.show('done');
    expect((await answer).status).toBe(200);
    expect((await send(url)).status).toBe(400);
  });

  it('sends its page with headers that keep it private and inert', async () => {
    const receiver = await opened();
    const { headers, page } = await send(receiver.redirectUri);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'content-type': 'text/html; charset=utf-8',
    });
    expect(headers['content-security-policy']).toMatch(/^default-src 'none';.*frame-ancestors 'none'/);
    expect(page).not.toContain('<script');
  });

  it('does not repeat a hostile query in its pages', async () => {
    const receiver = await opened();
    const query = 'state=<script>alert(1)</script>&error_description=<b>pwned</b>';
    const { page } = await send(withQuery(receiver, encodeURI(query)));
    for (const text of ['alert', 'pwned', 'script>']) expect(page).not.toContain(text);
  });
});

describe('an address that redirects the browser to the sign-in page', () => {
  const page = 'https://issuer.example/authorize?state=right&code_challenge=c';

  async function leading(loopback = new Loopback()) {
    const receiver = await opened(loopback);
    const over = new AbortController();
    return { receiver, over, address: receiver.leadTo(page, over.signal) };
  }

  it('is unguessable, does not show its target, and is not stored', async () => {
    const { receiver, address } = await leading();
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}$/);
    expect(new URL(address).port).toBe(new URL(receiver.redirectUri).port);
    const { status, headers } = await send(address);
    expect(status).toBe(303);
    expect(headers).toMatchObject({
      location: page,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
  });

  it('redirects again after a reload and a prefetch, until the sign-in ends', async () => {
    const { over, address } = await leading();
    for (const headers of [{}, { 'sec-purpose': 'prefetch;prerender' }, {}] as Record<string, string>[]) {
      expect((await send(address, { headers })).status).toBe(303);
    }
    over.abort();
    expect((await send(address)).status).toBe(400);
  });

  it('redirects once if the user of the request is unknown; a prefetch does not count', async () => {
    const { address } = await leading(new Loopback({ ownerOf: () => 'unknown' }));
    expect((await send(address, { headers: { 'sec-purpose': 'prefetch' } })).status).toBe(400);
    expect((await send(address, { headers: { host: 'evil.example' } })).status).toBe(400);
    expect((await send(address)).status).toBe(303);
    expect((await send(address)).status).toBe(400);
  });

  it.each<[string, Sent, string?]>([
    ['another method', { method: 'POST' }],
    ['a foreign Host (DNS rebinding)', { headers: { host: 'evil.example' } }],
    ['a query', {}, '?x=1'],
  ])(
    'the address of the sign-in page does not redirect a request with %s',
    async (_what, sent, more = '') => {
      const { address } = await leading();
      const { status, headers } = await send(`${address}${more}`, sent);
      expect([status, headers.location]).toEqual([400, undefined]);
      expect((await send(address)).status).toBe(303);
    },
  );
});

it.each<[string, Record<string, string>]>([
  ['a frame', { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
  ['a script’s request', { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
  ['a script’s request without a destination', { 'sec-fetch-mode': 'no-cors' }],
  ['a page that is loaded ahead', { 'sec-fetch-mode': 'navigate', 'sec-purpose': 'prefetch;prerender' }],
])('X-5: a reply by %s is refused, and the real page accepted after it', async (_what, headers) => {
  const receiver = await opened();
  const awaited = receiver.receive('right', never);
  const url = withQuery(receiver, 'code=c&state=right');
  expect((await send(url, { headers })).status).toBe(400);
  const tab = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'cross-site' };
  await accepts(receiver, awaited, { headers: tab });
});

describe('two sign-ins with one redirect URI', () => {
  it('share the port; each gets the reply with its own state', async () => {
    const loopback = new Loopback();
    const one = await opened(loopback);
    const two = await opened(loopback, one.redirectUri);
    expect(two.redirectUri).toBe(one.redirectUri);
    const [first, second] = [one.receive('one', never), two.receive('two', never)];
    const answers = [send(withQuery(one, 'code=2&state=two')), send(withQuery(one, 'code=1&state=one'))];
    expect((await second).url.searchParams.get('code')).toBe('2');
    expect((await first).url.searchParams.get('code')).toBe('1');
    (await first).show('done');
    (await second).show('failed');
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([400, 200]);
  });

  it('share the port at different paths; each takes replies at its own path only', async () => {
    const loopback = new Loopback();
    const one = await opened(loopback);
    const { origin } = new URL(one.redirectUri);
    const two = await opened(loopback, `${origin}/entered`);
    const named = await opened(loopback, `${origin.replace('127.0.0.1', 'localhost')}/named`);
    const first = one.receive('one', never);
    const second = two.receive('two', never);
    const third = named.receive('three', never);
    for (const [receiver, state] of [
      [two, 'one'],
      [one, 'two'],
      [one, 'three'],
    ] as const) {
      expect((await send(withQuery(receiver, `code=evil&state=${state}`))).status).toBe(400);
    }
    const answers = [
      send(withQuery(one, 'code=1&state=one')),
      send(withQuery(two, 'code=2&state=two')),
      send(withQuery(named, 'code=3&state=three'), { address: '127.0.0.1' }),
    ];
    for (const [reply, code] of [
      [first, '1'],
      [second, '2'],
      [third, '3'],
    ] as const) {
      expect((await reply).url.searchParams.get('code')).toBe(code);
      (await reply).show('done');
    }
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

it.each(['127.0.0.1', '::1'])(
  'a port refuses by name a port that another program holds on %s',
  async (host) => {
    const port = await freePort();
    const squatter = createServer().listen(port, host);
    await once(squatter, 'listening');
    onTestFinished(() => void squatter.close());
    const error = await refusal(new Loopback().open(`http://127.0.0.1:${port}/callback`));
    expect(error).toMatchObject({
      reason: 'redirect_port_taken',
      message: expect.stringContaining(String(port)),
      hint: expect.stringContaining(String(port)),
    });
    const other = host === '::1' ? '127.0.0.1' : '::1';
    const [failure] = await once(connect(port, other), 'error');
    expect(failure).toMatchObject({ code: 'ECONNREFUSED' });
  },
);

const noAddress = { reason: 'redirect_port_taken', message: expect.stringContaining('no address 127.0.0.1') };

it.each([
  ['EADDRNOTAVAIL', noAddress],
  ['EAFNOSUPPORT', noAddress],
  ['EMFILE', { code: 'EMFILE' }],
])('only a missing address is told as missing: %s', async (code, told) => {
  const listen = vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server) {
    queueMicrotask(() => this.emit('error', Object.assign(new Error('listen'), { code })));
    return this;
  });
  onTestFinished(() => listen.mockRestore());
  await expect(new Loopback().open()).rejects.toMatchObject(told);
});

describe('closing', () => {
  it('does not wait for a connection that a browser opened in advance', async () => {
    const receiver = await new Loopback().open();
    const { port, hostname } = new URL(receiver.redirectUri);
    const idle = connect(Number(port), hostname);
    await once(idle, 'connect');
    await send(receiver.redirectUri); // by now the server has taken the one before it, too
    // The grace for answers doesn't end.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const ended = once(idle, 'close');
    await receiver.close();
    await ended;
  });

  it('the listener’s wait for a reply ends when the signal says so', async () => {
    const receiver = await opened();
    const gone = new AbortController();
    const awaited = refusal(receiver.receive('right', gone.signal));
    gone.abort(new Error('gone'));
    expect(await awaited).toMatchObject({ message: 'gone' });
    expect((await send(withQuery(receiver, 'code=c&state=right'))).status).toBe(400);
  });
});
