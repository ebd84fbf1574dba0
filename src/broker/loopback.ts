/**
 * The loopback redirect receiver (RFC 8252 §7.3): a listener that exists only during one sign-in.
 *
 * Invariant: it listens on 127.0.0.1 and [::1] literally, and nothing but the one right reply ends
 * it. Any other method, path, Host, state or user of the machine gets 400 and the listener goes on,
 * so that neither a web page nor another session can end or feed a sign-in.
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { randomInt, timingSafeEqual } from 'node:crypto';
import { KeyturnError } from '../errors.ts';
import { pageHeaders, renderPage } from './loopback-page.ts';
import type { Page } from './loopback-page.ts';
import { ownerOf } from './loopback-peer.ts';

/** The path of the redirect URIs that we register. Says nothing about the product or the server. */
export const redirectPath = '/callback';

/** Longest request target we look at: a code and a state are far shorter. */
const longestTarget = 8192;

/**
 * A registration names its port, and the next sign-in needs it again. So it is one that nobody is assigned
 * (RFC 6335 §6), above those that Linux hands out to any program by itself (32768 to 60999).
 */
const portRange = [61_000, 65_536] as const;

/**
 * The port in our client ID metadata document. One for everybody, since the document is hosted once and
 * names it.
 */
export const documentPort = 61_417;

/** A port for a registration of its own. Whether it is free is found out by listening. */
export function anyPort(): number {
  const port = randomInt(...portRange);
  return port === documentPort ? anyPort() : port;
}

/** Tries to find a port that is free on both addresses. */
const portTries = 16;

/** Milliseconds for a request to arrive whole: it is one line from this very machine. */
const requestTime = 10_000;
/** Milliseconds between looks for those that take longer; Node's own 30 s would hold their places for long. */
const checkingInterval = 2000;
/** A browser opens a handful; more would only help somebody who means to fill the door. */
const mostConnections = 32;
/** Milliseconds that an answer has to leave once the listener closes. */
const closingGrace = 2000;

export interface Reply {
  /** The redirect, as the browser brought it. Holds the authorization code: never log it. */
  readonly url: URL;
  /** Ends the browser's request with what the person should see. */
  show(page: Page): void;
}

export interface Receiver {
  readonly redirectUri: string;
  /** The first reply with this state. Rejects when the signal aborts. */
  receive(state: string, signal: AbortSignal): Promise<Reply>;
  close(): Promise<void>;
}

/** One address: its server and the connections that have asked nothing yet. */
interface Door {
  readonly server: Server;
  readonly silent: Set<Socket>;
}

/** One port with its listeners, shared by the sign-ins that use the same redirect URI. */
interface Listener {
  readonly redirectUri: string;
  readonly target: URL;
  readonly doors: readonly Door[];
  /** By state: who waits for which reply. */
  readonly expected: Map<string, (reply: Reply) => void>;
  users: number;
}

export class Loopback {
  readonly #listeners = new Map<string, Listener>();
  #turn: Promise<unknown> = Promise.resolve();

  /**
   * Listens for a redirect. With `redirectUri` on exactly its port (`redirect_port_taken` when another
   * program holds it), else on a free one.
   */
  async open(redirectUri?: string): Promise<Receiver> {
    // One after another: two sign-ins with one redirect URI must find the same listener.
    const opened = this.#turn.then(() => this.#listener(redirectUri));
    this.#turn = opened.catch(() => undefined);
    return this.#receiver(await opened);
  }

  async #listener(redirectUri: string | undefined): Promise<Listener> {
    const shared = redirectUri === undefined ? undefined : this.#listeners.get(redirectUri);
    if (shared) {
      shared.users += 1;
      return shared;
    }
    const given = redirectUri === undefined ? undefined : new URL(redirectUri);
    const doors = given ? await listenOn(Number(given.port || 80)) : await listenAnywhere();
    const target = given ?? new URL(`http://127.0.0.1:${portOf(doors[0])}${redirectPath}`);
    // Byte for byte as it was registered: the authorization server compares it exactly.
    const listener = {
      redirectUri: redirectUri ?? target.href,
      target,
      doors,
      expected: new Map(),
      users: 1,
    };
    for (const { server } of doors)
      server.on('request', (request, response) => answer(listener, request, response));
    this.#listeners.set(listener.redirectUri, listener);
    return listener;
  }

  #receiver(listener: Listener): Receiver {
    let isOpen = true;
    return {
      redirectUri: listener.redirectUri,
      receive: (state, signal) => receive(listener, state, signal),
      close: async () => {
        if (!isOpen) return;
        isOpen = false;
        listener.users -= 1;
        if (listener.users > 0) return;
        this.#listeners.delete(listener.redirectUri);
        await Promise.all(listener.doors.map(closeDoor));
      },
    };
  }
}

async function receive({ expected }: Listener, state: string, signal: AbortSignal): Promise<Reply> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Reply>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  expected.set(state, resolve);
  try {
    return await promise;
  } finally {
    expected.delete(state);
    signal.removeEventListener('abort', abort);
  }
}

function answer({ target, expected }: Listener, request: IncomingMessage, response: ServerResponse): void {
  const url = matching(request, target);
  const state = url && expectedState(url, expected);
  const resolve = state === undefined ? undefined : expected.get(state);
  if (!url || state === undefined || !resolve) {
    end(response, 400, 'unexpected');
    return;
  }
  expected.delete(state); // one reply only: a reload or a second tab changes nothing
  resolve({ url, show: (page) => end(response, page === 'done' ? 200 : 400, page) });
}

/** The redirect's URL when method, Host, path and the peer's user are right. */
function matching(request: IncomingMessage, target: URL): URL | undefined {
  if (request.method !== 'GET') return undefined;
  // DNS rebinding: a page under a foreign name reaches us only with that name in Host.
  if (request.headers.host !== target.host) return undefined;
  const path = request.url ?? '';
  if (path.length > longestTarget || !URL.canParse(path, target.origin)) return undefined;
  const url = new URL(path, target.origin);
  if (url.origin !== target.origin || url.pathname !== target.pathname) return undefined;
  return isOurUser(request) ? url : undefined;
}

function isOurUser({ socket }: IncomingMessage): boolean {
  const { remoteAddress, remotePort, localPort } = socket;
  if (remoteAddress === undefined || remotePort === undefined || localPort === undefined) return false;
  const owner = ownerOf({ remoteAddress, remotePort, localPort });
  return owner === 'own' || (owner === 'unknown' && process.platform !== 'linux');
}

/** RFC 6749 §10.12: exactly one state, equal to one that we wait for; compared in constant time. */
function expectedState(url: URL, expected: Listener['expected']): string | undefined {
  const [given, ...more] = url.searchParams.getAll('state');
  if (given === undefined || more.length > 0) return undefined;
  return [...expected.keys()].find((state) => isSame(given, state));
}

function isSame(given: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(wanted)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function end(response: ServerResponse, status: number, page: Page): void {
  response.writeHead(status, pageHeaders);
  response.end(renderPage(page));
}

async function listenAnywhere(): Promise<[Door, ...Door[]]> {
  for (let left = portTries; ; left -= 1) {
    try {
      return await listenOn(anyPort());
    } catch (error) {
      if (left <= 1) throw error;
    }
  }
}

async function listenOn(port: number): Promise<[Door, ...Door[]]> {
  const first = await listen('127.0.0.1', port);
  try {
    return [first, ...(await listenV6(port))];
  } catch (error) {
    await closeDoor(first);
    throw error;
  }
}

/** A machine without IPv6 has no [::1]; nobody can squat there either. */
async function listenV6(port: number): Promise<Door[]> {
  try {
    return [await listen('::1', port)];
  } catch (error) {
    if (error instanceof KeyturnError) throw error;
    return [];
  }
}

function listen(host: string, port: number): Promise<Door> {
  const server = createServer({
    maxHeaderSize: 16_384,
    requestTimeout: requestTime,
    connectionsCheckingInterval: checkingInterval,
    keepAlive: false,
  });
  server.maxConnections = mostConnections;
  const silent = new Set<Socket>();
  server.on('connection', (socket) => {
    silent.add(socket);
    socket.once('close', () => silent.delete(socket));
  });
  server.on('request', ({ socket }) => silent.delete(socket));
  return new Promise((resolve, reject) => {
    // Stays: an error while it listens (no more descriptors, say) must not end the process.
    server.on('error', (error: NodeJS.ErrnoException) => {
      reject(error.code === 'EADDRINUSE' || error.code === 'EACCES' ? portTaken(port) : error);
    });
    server.listen({ host, port, exclusive: true }, () => resolve({ server, silent }));
  });
}

function portTaken(port: number): KeyturnError {
  return new KeyturnError(
    'redirect_port_taken',
    `Port ${port} on this machine is taken by another program.`,
    {
      rule: 'The redirect URI is registered with this port (RFC 8252 §7.3, OAuth 2.1 exact redirect match)',
      hint: `Find the program that listens on port ${port} and end it, or register another redirect URI.`,
    },
  );
}

function portOf({ server }: Door): number {
  // A TCP server that listens has an address with a port.
  return (server.address() as AddressInfo).port;
}

/** Resolves when the port is free and what was answered has left. */
function closeDoor({ server, silent }: Door): Promise<void> {
  return new Promise((resolve) => {
    const late = setTimeout(() => server.closeAllConnections(), closingGrace).unref();
    server.close(() => {
      clearTimeout(late);
      resolve();
    });
    // Browsers open a second connection in advance and leave it silent: nobody waits for that one.
    for (const socket of silent) socket.destroy();
  });
}
