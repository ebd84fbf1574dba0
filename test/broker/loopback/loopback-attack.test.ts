/** The loopback redirect under attack: raw bytes, floods and other sessions, and the right reply beside them. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Loopback, type Receiver } from '../../../src/broker/loopback/loopback.ts';

/** Milliseconds. Thousands of connections on a busy machine: only a hang takes longer. */
const patience = 120_000;

const never = new AbortController().signal;

async function opened(loopback = new Loopback(), redirectUri?: string): Promise<Receiver> {
  const receiver = await loopback.open(redirectUri);
  onTestFinished(() => receiver.close());
  return receiver;
}

function dial({ redirectUri }: Receiver): Socket {
  const { hostname, port } = new URL(redirectUri);
  const socket = connect(Number(port), hostname);
  // A client that is cut off while it writes gets a reset.
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** The answer to these bytes, up to the end of the connection. */
async function say(receiver: Receiver, bytes: string): Promise<string> {
  const socket = dial(receiver);
  socket.write(bytes);
  return text(socket).catch(() => '');
}

const requestOf = ({ redirectUri }: Receiver, query: string, more = ''): string =>
  `GET ${new URL(redirectUri).pathname}?${query} HTTP/1.1\r\nHost: ${new URL(redirectUri).host}\r\n${more}\r\n`;

/** The right reply arrives now, and is accepted once. */
async function expectRightReply(receiver: Receiver, awaited: ReturnType<Receiver['receive']>): Promise<void> {
  const answer = say(receiver, requestOf(receiver, 'code=c&state=right'));
  const reply = await awaited;
  expect(reply.url.searchParams.get('code')).toBe('c');
  reply.show('done');
  expect(await answer).toMatch(/^HTTP\/1\.1 200 /);
}

describe('a sign-in goes on', { timeout: patience }, () => {
  const host = (receiver: Receiver): string => new URL(receiver.redirectUri).host;
  const right = ({ redirectUri }: Receiver) => `${new URL(redirectUri).pathname}?code=evil&state=right`;
  const get = (r: Receiver, target: string, more = ''): string =>
    `GET ${target} HTTP/1.1\r\nHost: ${host(r)}\r\n${more}\r\n`;
  const attacks: readonly [string, (receiver: Receiver) => string][] = [
    ['an absolute target of another origin', (r) => get(r, `http://evil.example${right(r)}`)],
    ['a target without a scheme', (r) => get(r, `//evil.example${right(r)}`)],
    ['no Host', (r) => `GET ${right(r)} HTTP/1.0\r\n\r\n`],
    ['two Hosts', (r) => `GET ${right(r)} HTTP/1.1\r\nHost: evil.example\r\nHost: ${host(r)}\r\n\r\n`],
    [
      'a preflight',
      (r) =>
        `OPTIONS ${right(r)} HTTP/1.1\r\nHost: ${host(r)}\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: GET\r\nAccess-Control-Request-Private-Network: true\r\n\r\n`,
    ],
    ['CONNECT', (r) => `CONNECT ${host(r)} HTTP/1.1\r\nHost: ${host(r)}\r\n\r\n`],
    ['TLS', () => '\u0016\u0003\u0001\u0000\u00a5\u0001\u0000\u0000'],
    ['an empty line and garbage', () => '\r\n\r\n\u0000\u0001garbage\r\n\r\n'],
    ['headers of a megabyte', (r) => get(r, right(r), `X: ${'x'.repeat(1 << 20)}\r\n`)],
    [
      'a request smuggled in a body',
      (r) =>
        `POST / HTTP/1.1\r\nHost: ${host(r)}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET ${right(r)} HTTP/1.1\r\nHost: ${host(r)}\r\n\r\n`,
    ],
  ];

  it.each(attacks)('DOOR-4: after %s, which gets nothing', async (_name, bytes) => {
    const receiver = await opened();
    const awaited = receiver.receive('right', never);
    const answer = await say(receiver, bytes(receiver));
    expect(answer).not.toMatch(/^HTTP\/1\.1 [23]/);
    expect(answer).not.toMatch(/access-control-allow/i);
    await expectRightReply(receiver, awaited);
  });

  it('DOOR-4: while a page asks three hundred times', async () => {
    const receiver = await opened();
    const awaited = receiver.receive('right', never);
    let answered = 0;
    const lanes = Array.from({ length: 16 }, async (_, lane) => {
      for (let i = 0; i < 20; i += 1) {
        if (
          (await say(receiver, requestOf(receiver, `code=evil&state=${lane}-${i}`))).startsWith(
            'HTTP/1.1 400',
          )
        ) {
          answered += 1;
        }
      }
    });
    await expectRightReply(receiver, awaited);
    await Promise.all(lanes);
    expect(answered).toBe(320);
  });

  it('DOOR-4: while slow requests hold three quarters of the places', async () => {
    const receiver = await opened();
    const awaited = receiver.receive('right', never);
    const slow = Array.from({ length: 24 }, () => dial(receiver));
    await Promise.all(slow.map(async (socket) => once(socket, 'connect')));
    for (const socket of slow) socket.write(`GET ${new URL(receiver.redirectUri).pathname}?state=ri`);
    await expectRightReply(receiver, awaited);
  });

  it('while another user opens more connections than there are places', async () => {
    const ownerOf = ({ remoteAddress }: Socket) => (remoteAddress === '127.0.0.2' ? 'other' : 'own');
    const receiver = await opened(new Loopback({ ownerOf }));
    const awaited = receiver.receive('right', never);
    const port = Number(new URL(receiver.redirectUri).port);
    const flood = Array.from({ length: 64 }, () =>
      connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' }).on('error', () => undefined),
    );
    onTestFinished(() => flood.forEach((socket) => void socket.destroy()));
    await Promise.all(flood.map((socket) => once(socket, 'connect')));
    await expectRightReply(receiver, awaited);
  });
});
