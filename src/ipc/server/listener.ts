/**
 * The listening end of one socket: opened, found again where its file was lost, closed.
 *
 * Invariant: a file of another process at our path is never removed. Node removes the path of a server that it closes,
 * whichever process made the file that is there by then.
 */
import net, { type Socket } from 'node:net';
import { lookAt } from '../../base/private/private-folder.ts';
import type { PeerReader } from '../peer/peer.ts';
import { listenAt, nameOf } from '../wire/socket.ts';
import { isPipe } from '../wire/pipe.ts';
import type { After } from '../wire/timer.ts';
import { listenOnPassed } from './passed-socket.ts';

export interface ListenerDeps {
  /** Its folder is checked. */
  readonly path: string;
  /** A descriptor that listens there already: see passed-socket.ts. */
  readonly passed?: number | undefined;
  readonly readPeer: PeerReader;
  readonly after: After;
  /** Called for each connection, which is paused. */
  readonly receive: (socket: Socket) => void;
  /** Accepting can fail for want of descriptors: that caller is lost, the broker isn't. */
  readonly failed: () => void;
}

export class Listener {
  readonly #deps: ListenerDeps;
  #server: net.Server | undefined;
  #path: string;
  #socketId = '';
  readonly #ended: Promise<void>[] = [];

  constructor(deps: ListenerDeps) {
    this.#deps = deps;
    this.#path = deps.path;
  }

  /** Throws `broker_running` or `socket_unsafe`. */
  async open(): Promise<void> {
    const { path, passed: fd } = this.#deps;
    if (fd === undefined) return this.listenAt(path);
    const server = newServer();
    const { socketId, early } = await listenOnPassed(server, { ...this.#deps, fd });
    this.#serve(server, socketId);
    for (const socket of early) this.#deps.receive(socket);
  }

  /** Name of the socket, e.g. `unix:66306:131`. */
  get socketId(): string {
    return this.#socketId;
  }

  get path(): string {
    return this.#path;
  }

  /** The file is gone, or another one is in its place: no program can reach us. */
  isLost(): boolean {
    if (isPipe(this.#path)) return false;
    try {
      const found = lookAt(this.#path);
      return !found || nameOf(found) !== this.#socketId;
    } catch {
      return true;
    }
  }

  /** Listens at this path, instead of a lost one. Throws as `open`; then nothing listens, and another try may follow. */
  async listenAt(path: string): Promise<void> {
    // Before the new file is made: it may get the path of the old one.
    this.#stop();
    const server = newServer();
    const socketId = await listenPrivately(server, path);
    this.#path = path;
    this.#serve(server, socketId);
  }

  /** Others can't have come in yet: 'connection' is emitted from the event loop, later than this. */
  #serve(server: net.Server, socketId: string): void {
    this.#server = server;
    this.#socketId = socketId;
    server.on('connection', this.#deps.receive);
    server.on('error', this.#deps.failed);
  }

  /** Resolves when nobody can connect any more, and every connection has ended. */
  async close(): Promise<void> {
    this.#stop();
    await Promise.all(this.#ended);
  }

  #stop(): void {
    const server = this.#server;
    if (!server?.listening) return;
    // Nobody can reach it, and it ends with this process.
    if (this.#isOthers()) server.unref();
    else this.#ended.push(new Promise((resolve) => void server.close(() => resolve())));
  }

  /** The file at our path is another process's. */
  #isOthers(): boolean {
    if (!this.isLost()) return false;
    try {
      return lookAt(this.#path) !== undefined;
    } catch {
      return false;
    }
  }
}

// Paused: nothing is read before the peer was looked at.
const newServer = (): net.Server => net.createServer({ pauseOnConnect: true });

/** A socket is private by its mode, a pipe by its rights. Throws `socket_unsafe`, and listens no more then. */
async function listenPrivately(server: net.Server, path: string): Promise<string> {
  const socketId = await listenAt(server, path);
  if (!isPipe(path)) return socketId;
  try {
    const { loadWindowsAccess } = await import('../../base/windows/access.ts');
    (await loadWindowsAccess()).restrictPipe(path);
    return socketId;
  } catch (error) {
    server.close();
    throw error;
  }
}
