/** A real server on a real socket in a home of its own, with a clock that tests turn by hand. */
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import net from 'node:net';
import { onTestFinished } from 'vitest';
import { KeyturnError } from '../../src/base/errors.ts';
import { prepareForwardSocket, socketPlaces } from '../../src/ipc/wire/socket-path.ts';
import { brokerProof, clientProof, keyFromText, newNonce, transcript } from '../../src/ipc/wire/handshake.ts';
import type { PairRequest } from '../../src/ipc/server/pairing.ts';
import {
  type ServerDeps,
  type ServerEvent,
  type SocketLimit,
  startServer,
} from '../../src/ipc/server/server.ts';
import type { Identity } from '../../src/ipc/wire/handshake-messages.ts';
import type { After } from '../../src/ipc/wire/timer.ts';
import { type Environment, type HomePaths, homePaths } from '../../src/base/paths.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** The paths of a home of its own. */
export function temporaryHome(): HomePaths {
  return homePaths({ KEYTURN_HOME: temporaryFolder() });
}

/** Where a home's socket may listen. */
export const prepareSocket = (paths: HomePaths, env: Environment = {}): string =>
  process.platform === 'win32' ? socketPlaces(paths)[0] : prepareForwardSocket(paths, 'broker.sock', env);

/** A clock that stands still until a test advances it. */
export class HandClock {
  now = 1_700_000_000_000;
  readonly #alarms = new Set<{ readonly at: number; readonly run: () => void }>();

  readonly after: After = (ms, run) => {
    const alarm = { at: this.now + ms, run };
    this.#alarms.add(alarm);
    return () => this.#alarms.delete(alarm);
  };

  turn(ms: number): void {
    this.now += ms;
    for (const alarm of this.#alarms) {
      if (alarm.at > this.now) continue;
      this.#alarms.delete(alarm);
      alarm.run();
    }
  }
}

export const homeId = 'aG9tZS1mb3ItdGVzdHMtMQ';

type Exceptions = Partial<Omit<ServerDeps, 'path' | 'homeId' | 'log' | 'turnedAway' | 'now' | 'after'>>;

export async function startRig(exceptions: Exceptions = {}) {
  const paths = temporaryHome();
  const socket = prepareSocket(paths);
  const clock = new HandClock();
  const keys = new Map<string, KeyObject>();
  const events: ServerEvent[] = [];
  const limits: SocketLimit[] = [];
  const watchers = new Set<() => void>();
  const start = async () =>
    startServer({
      path: socket,
      homeId,
      keyFor: async (appId) => keys.get(appId),
      dispatch: async (caller, method, params) => ({ appId: caller.appId, method, params }),
      pair: async (_request: PairRequest) => {
        throw new KeyturnError('pairing_denied', 'no');
      },
      confirmPaired: async () => {},
      log: (event) => {
        events.push(event);
        for (const watcher of watchers) watcher();
      },
      turnedAway: (limit) => limits.push(limit),
      now: () => clock.now,
      after: clock.after,
      ...exceptions,
    });
  let server = await start();
  const stop = async () => {
    const closed = server.close();
    clock.turn(1000);
    await closed;
  };
  onTestFinished(stop);
  return {
    paths,
    socket,
    clock,
    events,
    /** The limits at which a connection was turned away, one for each. */
    limits,
    keys,
    get server() {
      return server;
    },
    stop,
    start: async () => {
      server = await start();
    },
    /** Adds a client that the broker knows. */
    enrol: (appId = randomBytes(16).toString('base64url')) => {
      const key = randomBytes(32);
      keys.set(appId, createSecretKey(key));
      return { appId, key: key.toString('base64url'), brokerId: homeId };
    },
    /** Waits until an event has been logged. */
    seen: async (match: (event: ServerEvent) => boolean) => {
      const { promise, resolve } = Promise.withResolvers<ServerEvent>();
      const look = () => {
        const found = events.find(match);
        if (found) resolve(found);
      };
      watchers.add(look);
      look();
      return promise.finally(() => watchers.delete(look));
    },
  };
}

export type Rig = Awaited<ReturnType<typeof startRig>>;

/** A rig whose vault answers when the test says so; `asked` resolves at the given question to it. */
export async function startSlowRig(question = 1, exceptions: Exceptions = {}) {
  const asked = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  let times = 0;
  const rig = await startRig({
    keyFor: async (appId) => {
      times += 1;
      if (times === question) asked.resolve();
      await opened.promise;
      return rig.keys.get(appId);
    },
    ...exceptions,
  });
  return { rig, asked: asked.promise, open: opened.resolve, times: () => times };
}

type Answer = Record<string, unknown>;

/** A client that says exactly what a test wants, right or wrong. */
export class RawClient {
  readonly socket: net.Socket;
  readonly #lines: Answer[] = [];
  readonly #waiting: ((line: Answer | undefined) => void)[] = [];
  #text = '';
  #closed = false;

  constructor(socketPath: string) {
    this.socket = net.connect(socketPath);
    this.socket.setEncoding('utf8');
    this.socket.on('data', (text: string) => this.#read(text));
    this.socket.on('error', () => {});
    this.socket.on('close', () => {
      this.#closed = true;
      for (const resolve of this.#waiting.splice(0)) resolve(undefined);
    });
  }

  #read(text: string): void {
    const lines = (this.#text + text).split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) {
      const answer: Answer = JSON.parse(line);
      const resolve = this.#waiting.shift();
      if (resolve) resolve(answer);
      else this.#lines.push(answer);
    }
  }

  send(message: object | string): void {
    this.socket.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  }

  /** The next message of the broker, or undefined once it has closed the connection. */
  async next(): Promise<Answer | undefined> {
    const line = this.#lines.shift();
    if (line || this.#closed) return line;
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
    this.#waiting.push(resolve);
    return promise;
  }

  /** The reason of the error that the broker sent before it closed the connection. */
  async refusal(): Promise<unknown> {
    const answer = await this.next();
    const after = await this.next();
    if (after !== undefined) throw new Error('the broker said more after its refusal');
    const error = answer?.['error'];
    const data = typeof error === 'object' && error && 'data' in error ? error.data : undefined;
    return typeof data === 'object' && data && 'reason' in data ? data.reason : undefined;
  }
}

export function request(id: number, method: string, params: object = {}): object {
  return { jsonrpc: '2.0', id, method, params };
}

export interface HelloChanges {
  readonly versions?: readonly number[];
  readonly socketId?: string;
  readonly appId?: string;
  readonly nonce?: string;
}

export function helloLine(identity: Identity, socketId: string, changes: HelloChanges = {}): string {
  const params = {
    versions: [1],
    appId: identity.appId,
    nonce: newNonce(),
    socketId,
    capabilities: [],
    ...changes,
  };
  return JSON.stringify({ jsonrpc: '2.0', id: 'h', method: 'hello', params });
}

/** Both proofs for a hello and its answer. */
export function proofsFor(identity: Identity, line: string, answer: Answer | undefined) {
  const result = answer?.['result'];
  if (typeof result !== 'object' || result === null || !('nonce' in result) || !('proof' in result)) {
    throw new Error('the broker gave no proof');
  }
  const key = keyFromText(identity.key);
  const t = transcript({
    helloLine: Buffer.from(line),
    version: 1,
    brokerId: homeId,
    brokerNonce: String(result.nonce),
    capabilities: [],
  });
  const proofB = String(result.proof);
  return { proofB, expectedB: brokerProof(key, t), proofC: clientProof(key, t, proofB) };
}

export function prove(proof: string): object {
  return { jsonrpc: '2.0', id: 'p', method: 'authenticate', params: { proof } };
}

/** A raw client that said hello and got an answer, and what it can prove with. */
export async function greeted(rig: Rig, identity: Identity = rig.enrol(), line?: string) {
  const client = new RawClient(rig.socket);
  const hello = line ?? helloLine(identity, rig.server.socketId);
  client.send(hello);
  const answer = await client.next();
  return { client, identity, line: hello, answer, ...proofsFor(identity, hello, answer) };
}

/** A raw client that has finished the handshake. */
export async function admitted(rig: Rig, identity: Identity = rig.enrol()): Promise<RawClient> {
  const { client, proofC } = await greeted(rig, identity);
  client.send(prove(proofC));
  await client.next();
  return client;
}
