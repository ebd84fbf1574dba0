/** A proxy's port without a broker behind it: whoever passes its checks is refused by a broker that knows nobody. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { KeyturnError } from '../../src/base/errors.ts';
import { after } from '../../src/ipc/wire/timer.ts';
import { Programs } from '../../src/proxy/programs.ts';
import { ProxyPort, type PortLimits } from '../../src/proxy/proxy-port.ts';
import { freePort } from '../support/servers/port.ts';

/** As long as a real one. */
const path = 'p'.repeat(32);

/** What the broker says to everybody that comes so far. */
export const reached = 'the broker was asked';

export async function openPort(bounds: Partial<PortLimits> = {}, taken?: number) {
  const asked: string[] = [];
  const programs = new Programs({
    after,
    admit: async (entry) => {
      asked.push(entry.id);
      throw new KeyturnError('consent_denied', reached);
    },
  });
  const port = taken ?? (await freePort());
  const listening = new ProxyPort({ id: 'e', port, path }, programs, { restTimeout: 50, ...bounds });
  const state = await listening.open();
  onTestFinished(() => listening.close());
  return { port, path, state, asked, host: `127.0.0.1:${port}`, target: `/${path}/mcp` };
}

/** Sends these bytes, and reads what comes until the other end hangs up. */
export async function sendBytes(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let got = '';
  socket.setEncoding('utf8').on('data', (text: string) => (got += text));
  // A connection that gets no place is reset.
  const closed = new Promise<void>((resolve) =>
    socket.on('error', () => undefined).once('close', () => resolve()),
  );
  socket.write(bytes);
  await closed;
  return got;
}

/** As a client that sends all of it before it reads: what it then gets, or how its sending failed. */
export async function sendAllThenRead(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const sent = new Promise<Error | null | undefined>((resolve) => {
    socket.on('error', resolve);
    socket.write(bytes, resolve);
  });
  const failure = await sent;
  if (failure) return failure.message;
  let got = '';
  for await (const piece of socket) got += String(piece);
  return got;
}

interface Asked {
  readonly method?: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly body?: string;
}

/** One request with exactly these lines. */
export function lines({ method = 'POST', target, headers, body = '{}' }: Asked): string {
  return [`${method} ${target} HTTP/1.1`, ...headers, `Content-Length: ${body.length}`, '', body].join(
    '\r\n',
  );
}

/** Status and reason of an answer. */
export function verdict(answer: string): { readonly status: number; readonly reason?: unknown } {
  const [head = '', body = ''] = answer.split('\r\n\r\n', 2);
  const status = Number(head.split(' ')[1] ?? 0);
  try {
    const error: { data?: { reason?: unknown } } = JSON.parse(body).error;
    return { status, reason: error.data?.reason };
  } catch {
    return { status };
  }
}
