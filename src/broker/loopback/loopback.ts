/**
 * The loopback redirect receiver (RFC 8252 §7.3): a listener that exists only during a sign-in. The browser also
 * starts there: it gets our own address that redirects to the authorization URL, because every user of the machine
 * can read the arguments of the browser's command.
 *
 * Invariant: it listens on 127.0.0.1 and [::1] literally, and only the one right reply ends it. Any other method, path,
 * Host or state, and any request that is not a page in a tab of its own, gets 400; a connection of another user of the
 * machine is closed; and the listener goes on. So neither a web page nor another session can end or answer a sign-in.
 * An answer without state is only reported. A reply is valid only at the redirect URI of its own sign-in, even if
 * several sign-ins share the port.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { untilAborted } from '../../base/abort.ts';
import { mutex } from '../../base/mutex.ts';
import { constantTimeEqual } from '../../base/constant-time.ts';
import { ownerOfPeer, type PeerOwner } from '../../base/system/tcp-owner.ts';
import {
  anyPort,
  closeListener,
  documentPort,
  listenAnywhere,
  listenOn,
  portOf,
  portOfHash,
  type AddressListener,
} from './port-listener.ts';
import { pageHeaders, renderPage, type Page } from './loopback-page.ts';
import { expectedState, isAhead, matching, reportStateless, type AwaitedReply } from './redirect-request.ts';

/** The path in our client ID metadata document. */
export const sharedPath = '/callback';

/** Bytes of an unguessable path: the fewest that RFC 6749 §10.10 allows. */
const pathBytes = 16;

/** Shows which issuer an answer is for (RFC 9700 §4.4.2). Random first: some servers accept all below a path. */
const ownPath = (): string => `/${unguessable()}${sharedPath}`;

const unguessable = (): string => randomBytes(pathBytes).toString('base64url');

/** A redirect URI for a client that the user registers by hand. Whether its port is free shows at the sign-in. */
export const freshRedirect = (): string => `http://127.0.0.1:${anyPort()}${ownPath()}`;

export interface RedirectCallback {
  /** The redirect, as the browser brought it. Holds the authorization code: never log it. */
  readonly url: URL;
  /** Ends the browser's request with a page for the user. */
  show(page: Page): void;
}

export interface Receiver {
  readonly redirectUri: string;
  /** The first reply with this state. `onStateless` gets the error code (or '') of each answer here without a state. */
  receive(
    state: string,
    signal: AbortSignal,
    onStateless?: (error: string) => void,
  ): Promise<RedirectCallback>;
  /** Our own address that leads this user's browser on to `url` until the signal aborts. */
  leadTo(url: string, signal: AbortSignal): string;
  close(): Promise<void>;
}

interface ExpectedReply extends AwaitedReply {
  readonly resolve: (callback: RedirectCallback) => void;
}

/** One port with its listeners, shared by the sign-ins whose redirect URIs name this port. */
interface OpenPort {
  readonly port: number;
  readonly listeners: readonly AddressListener[];
  /** By state. */
  readonly expected: Map<string, ExpectedReply>;
  /** By path: authorization URLs that the browser is led on to. */
  readonly leads: Map<string, string>;
  users: number;
}

export interface LoopbackParts {
  readonly ownerOf: Ask;
  /** One port for every home, so that the operator of a server can allow it. */
  readonly fixedPort: number;
  /** Of the home: what `redirectFor` is made of. */
  readonly seed: string;
}

export class Loopback {
  readonly #ports = new Map<number, OpenPort>();
  readonly #parts: LoopbackParts;
  /** Two sign-ins with one port must find the same listener. */
  readonly #exclusive = mutex();

  constructor({
    ownerOf = ownerOfPeer,
    fixedPort = documentPort,
    seed = unguessable(),
  }: Partial<LoopbackParts> = {}) {
    this.#parts = { ownerOf, fixedPort, seed };
  }

  /** For a client that the user registers by hand: always the same. By name, since some providers take no address. */
  redirectFor(issuer: string): string {
    const hash = createHash('sha256')
      .update(JSON.stringify([this.#parts.seed, issuer]))
      .digest();
    return `http://localhost:${portOfHash(hash)}/${hash.subarray(0, pathBytes).toString('base64url')}${sharedPath}`;
  }

  /** Exactly at `redirectUri` (throws `redirect_port_taken`); without one, on a free port at a path of its own. */
  async open(redirectUri?: string): Promise<Receiver> {
    if (redirectUri === undefined) return this.openAnywhere(ownPath());
    // Byte for byte as it was registered: the authorization server compares it exactly.
    const port = Number(new URL(redirectUri).port || 80);
    return this.#receiver(await this.#exclusive(() => this.#listener(port)), redirectUri);
  }

  /** Listens on the fixed port, at a path of its own. Throws `redirect_port_taken`. */
  async openFixed(): Promise<Receiver> {
    return this.open(`http://127.0.0.1:${this.#parts.fixedPort}${ownPath()}`);
  }

  async openAnywhere(path: string): Promise<Receiver> {
    const openPort = await this.#exclusive(() => this.#listener(undefined));
    return this.#receiver(openPort, `http://127.0.0.1:${openPort.port}${path}`);
  }

  async #listener(wanted: number | undefined): Promise<OpenPort> {
    const shared = wanted === undefined ? undefined : this.#ports.get(wanted);
    if (shared) {
      shared.users += 1;
      return shared;
    }
    const { ownerOf } = this.#parts;
    const isForeign = (socket: Socket): boolean => ownerOf(socket) === 'other';
    const listeners = await (wanted === undefined ? listenAnywhere(isForeign) : listenOn(wanted, isForeign));
    const port = portOf(listeners[0]);
    const openPort: OpenPort = { port, listeners, expected: new Map(), leads: new Map(), users: 1 };
    for (const { server } of listeners)
      server.on('request', (request, response) => answer(openPort, ownerOf, request, response));
    this.#ports.set(openPort.port, openPort);
    return openPort;
  }

  #receiver(openPort: OpenPort, redirectUri: string): Receiver {
    const target = new URL(redirectUri);
    let isOpen = true;
    return {
      redirectUri,
      receive: (state, signal, onStateless = () => undefined) =>
        receive(openPort, state, signal, { target, onStateless }),
      leadTo: (url, signal) => leadTo(openPort, url, signal),
      close: async () => {
        if (!isOpen) return;
        isOpen = false;
        openPort.users -= 1;
        if (openPort.users > 0) return;
        this.#ports.delete(openPort.port);
        await Promise.all(openPort.listeners.map(closeListener));
      },
    };
  }
}

async function receive(
  { expected }: OpenPort,
  state: string,
  signal: AbortSignal,
  wanted: Omit<ExpectedReply, 'resolve'>,
): Promise<RedirectCallback> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<RedirectCallback>();
  expected.set(state, { ...wanted, resolve });
  return untilAborted(promise, signal).finally(() => expected.delete(state));
}

function leadTo({ leads, port }: OpenPort, url: string, signal: AbortSignal): string {
  signal.throwIfAborted();
  const path = `/${unguessable()}`;
  leads.set(path, url);
  signal.addEventListener('abort', () => leads.delete(path), { once: true });
  return new URL(path, originOf(port)).href;
}

const originOf = (port: number): string => new URL(`http://127.0.0.1:${port}`).origin;

type Ask = (socket: Socket) => PeerOwner;

function answer(openPort: OpenPort, ownerOf: Ask, request: IncomingMessage, response: ServerResponse): void {
  const { expected } = openPort;
  const onward = leadFor(openPort, ownerOf, request);
  if (onward !== undefined) {
    // RFC 9700 §4.12: 303, so that the browser goes on with a GET. Nothing stores or repeats this address.
    response.writeHead(303, { ...pageHeaders, location: onward });
    response.end();
    return;
  }
  const state = expectedState(request, expected);
  const wanted = state === undefined ? undefined : expected.get(state);
  const url = wanted && matching(request, wanted.target);
  if (!url || state === undefined) {
    const error = reportStateless(request, expected);
    end(response, 400, error === undefined ? renderPage('unexpected') : renderPage('stateless', error));
    return;
  }
  expected.delete(state); // one reply only: a reload or a second tab changes nothing
  wanted.resolve({
    url,
    show: (page) => end(response, page === 'done' || page === 'asking' ? 200 : 400, renderPage(page)),
  });
}

/**
 * Where this browser is redirected to. The address works again and again while the sign-in waits, so that a reload or a
 * prefetch does no harm. If the system doesn't tell whose browser asks, it works once, since another user's browser may
 * ask after it.
 */
function leadFor({ leads, port }: OpenPort, ownerOf: Ask, request: IncomingMessage): string | undefined {
  const { method, url = '', headers } = request;
  const path = [...leads.keys()].find((one) => constantTimeEqual(url, one));
  if (path === undefined || method !== 'GET') return undefined;
  // DNS rebinding: a page under a foreign name reaches us only with that name in Host.
  if (headers.host !== new URL(originOf(port)).host) return undefined;
  const isUnknown = ownerOf(request.socket) === 'unknown';
  if (isUnknown && isAhead(headers)) return undefined;
  const onward = leads.get(path);
  if (isUnknown) leads.delete(path);
  return onward;
}

function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, pageHeaders);
  response.end(text);
}
