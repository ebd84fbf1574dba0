/**
 * Sends malformed frames to a real server on a real socket, and compares each answer with what JSON-RPC
 * and the wire contract say about the frame.
 *
 * Invariants tried: no result but the hello's before authentication; every authenticated request gets
 * exactly one answer, or the connection is closed; no answer and no log line holds a planted secret;
 * memory and descriptors are given back.
 */
import { isUtf8 } from 'node:buffer';
import { createSecretKey, randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

import { KeyturnError, quoted } from '../../../src/base/errors.ts';
import { processParts } from '../../../src/daemon/system/idle-collection.ts';
import { prepareSocket } from '../../../src/ipc/wire/socket-path.ts';
import { isMethod, methods } from '../../../src/ipc/protocol/methods.ts';
import { type Caller, startServer } from '../../../src/ipc/server/server.ts';
import type { Identity } from '../../../src/ipc/wire/handshake-messages.ts';
import { frameLimit } from '../../../src/ipc/wire/limits.ts';
import { bentMessage, bentText, Dice, requestText } from './fuzz-grammar.ts';
import { HandClock, helloLine, homeId, proofsFor, prove, request, temporaryHome } from '../rig.ts';

export interface FuzzOptions {
  /** At least so many are sent. */
  readonly frames: number;
  readonly seed: number;
}

export interface FuzzReport {
  readonly seed: number;
  readonly frames: number;
  readonly connections: number;
  /** Well-formed requests of authenticated clients. */
  readonly requests: number;
  readonly answers: number;
  /** Connections that a malformed frame ended. */
  readonly ended: number;
  /** Bytes on the heap and in buffers, after a collection, beyond those after the first tenth. */
  readonly heapGrowth: number;
  /** Open descriptors at the end beyond those at the start. */
  readonly descriptorGrowth: number;
}

/** What no answer may hold. */
const secret = 'planted-secret-hunter2';

/** Connections at once: enough that their frames interleave. */
const lanes = 4;

/** Milliseconds that the clock goes on with each connection: refills what its requests took. */
const step = 50;

/** Bytes in use on the heap and in buffers, after a collection. */
export function memory(): number {
  const parts = processParts();
  // Buffers are given back only by the collection after the one that finds them unused.
  parts?.collect();
  parts?.collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** How many descriptors this process has open; 0 where the system doesn't tell. */
export function openDescriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}

type Verdict = { readonly kind: 'request'; readonly id: unknown } | { readonly kind: 'silent' | 'fatal' };

/** What must become of a frame, judged without the code under test. */
export function verdictOn(frame: Buffer, limit: number): Verdict {
  const fatal = { kind: 'fatal' } as const;
  if (frame.length > limit || !isUtf8(frame)) return fatal;
  let message: unknown;
  try {
    message = JSON.parse(frame.toString('utf8'));
  } catch {
    return fatal;
  }
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return fatal;
  const { jsonrpc, id, method } = Object.assign(Object.create(null), message);
  if (jsonrpc !== '2.0' || typeof method !== 'string' || method === '' || method.length > 64) return fatal;
  if (id === undefined) return { kind: 'silent' };
  const isId = typeof id === 'string' ? id !== '' && id.length <= 64 : Number.isSafeInteger(id);
  return isId ? { kind: 'request', id } : fatal;
}

type Answer = Readonly<Record<string, unknown>>;

/** A client that records the answers. */
class Witness {
  readonly socket: net.Socket;
  readonly answers: Answer[] = [];
  readonly closed: Promise<void>;
  /** The broker hung up while this end was writing: its last words may be lost. */
  broke = false;
  #text = '';
  #watch: (() => void) | undefined;

  constructor(socketPath: string) {
    this.socket = net.connect(socketPath);
    this.socket.setEncoding('utf8');
    this.socket.on('data', (text: string) => this.#read(text));
    this.socket.on('error', () => {
      this.broke = true;
    });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => resolve());
    });
  }

  #read(text: string): void {
    if (text.includes(secret)) throw new Error('an answer holds a planted secret');
    const lines = (this.#text + text).split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) this.answers.push(JSON.parse(line));
    this.#watch?.();
  }

  /** Resolves at so many answers, or when the connection ends. */
  async until(count: number): Promise<void> {
    const enough = new Promise<void>((resolve) => {
      this.#watch = () => {
        if (this.answers.length >= count) resolve();
      };
      this.#watch();
    });
    await Promise.race([enough, this.closed]);
  }
}

class Fuzzer {
  readonly #seed: number;
  readonly #clock = new HandClock();
  readonly #socket = prepareSocket(temporaryHome(), {});
  readonly #identities = new Map<string, Identity>();
  readonly #answering = new Map<string, Dice>();
  #violation: string | undefined;
  #connections = 0;
  socketId = '';
  frames = 0;
  requests = 0;
  answers = 0;
  ended = 0;

  constructor(seed: number) {
    this.#seed = seed;
    for (const name of ['stranger', ...Array.from({ length: lanes }, (_, lane) => `lane-${lane}`)]) {
      const key = randomBytes(32).toString('base64url');
      this.#identities.set(name, { appId: name, key, brokerId: homeId });
    }
  }

  get connections(): number {
    return this.#connections;
  }

  async start() {
    let pid = 1;
    return startServer({
      path: this.#socket,
      homeId,
      keyFor: async (appId) => {
        const identity = this.#identities.get(appId);
        return identity && createSecretKey(identity.key, 'base64url');
      },
      dispatch: (caller, method, params) => this.#dispatch(caller, method, params),
      pair: async () => {
        throw new KeyturnError('pairing_denied', 'no', { cause: new Error(secret) });
      },
      confirmPaired: async () => {},
      log: (event) => {
        if (JSON.stringify(event).includes(secret)) this.#violation = 'the log holds a planted secret';
      },
      now: () => this.#clock.now,
      after: this.#clock.after,
      // Each connection is another program's: this run is about frames, not about rates.
      readPeer: () => ({ kind: 'verified', uid: process.getuid?.() ?? 0, gid: 0, pid: (pid += 1) }),
    });
  }

  /** As the daemon does, and then as no method of ours would. */
  async #dispatch(caller: Caller, method: string, params: unknown): Promise<unknown> {
    const dice = this.#answering.get(caller.appId);
    if (!dice) {
      this.#violation = `${caller.appId} was dispatched without a proof`;
      return {};
    }
    if (dice.oneIn(5)) await nextTurn();
    if (isMethod(method)) {
      const parsed = methods[method].params.safeParse(params ?? {});
      if (!parsed.success) throw new KeyturnError('invalid_request', `${quoted(method)}: bad value`);
    }
    return dice.pick(outcomes)(params);
  }

  /** One connection after another, until `frames` were sent in all. */
  async lane(lane: number, frames: number): Promise<void> {
    while (this.frames < frames) {
      const number = (this.#connections += 1);
      const dice = new Dice(this.#seed + number);
      try {
        await (dice.oneIn(4) ? this.#stranger(dice) : this.#client(dice, `lane-${lane}`));
        if (this.#violation) throw new Error(this.#violation);
      } catch (error) {
        throw new Error(`connection ${number} of the fuzz run with seed ${this.#seed}`, { cause: error });
      }
      this.#clock.turn(step);
    }
  }

  async #stranger(dice: Dice): Promise<void> {
    const witness = new Witness(this.#socket);
    const hello = helloLine(this.#identity('stranger'), this.socketId);
    const pair = JSON.stringify(
      request(1, 'pair', { versions: [1], name: 'editor', socketId: this.socketId }),
    );
    const proof = JSON.stringify(prove(randomBytes(32).toString('base64url')));
    const bend = (line: string) =>
      dice.oneIn(2) ? bentText(dice, line) : Buffer.from(bentMessage(dice, line));
    const first = dice.oneIn(2) ? Buffer.from(hello) : bend(dice.pick([hello, pair, requestText(dice)]));
    const frames = [
      first,
      bend(dice.pick([proof, hello, requestText(dice)])),
      Buffer.from(requestText(dice)),
    ];
    await this.#send(dice, witness.socket, frames);
    witness.socket.end();
    await witness.closed;
    const results = witness.answers.filter((answer) => 'result' in answer);
    if (results.length > 1 || !results.every((answer) => isOffer(answer['result']))) {
      throw new Error(`a stranger got ${JSON.stringify(results)}`);
    }
    const told = witness.answers.filter((answer) => 'method' in answer);
    if (!told.every((answer) => answer['method'] === 'pair.code')) throw new Error('a stranger was notified');
  }

  async #client(dice: Dice, name: string): Promise<void> {
    const witness = new Witness(this.#socket);
    await this.#admit(witness, name);
    this.#answering.set(name, new Dice(dice.below(2 ** 32)));
    const frames: Buffer[] = [];
    const expected: string[] = [];
    let isFatal = false;
    for (let left = 1 + dice.below(40); left > 0 && !isFatal; left -= 1) {
      const frame = clientFrame(dice);
      const verdict = verdictOn(frame, frameLimit);
      isFatal = verdict.kind === 'fatal';
      if (verdict.kind === 'request') expected.push(JSON.stringify(verdict.id));
      frames.push(frame);
    }
    // What follows a fatal frame must be as if it had never come.
    if (isFatal) frames.push(Buffer.from(JSON.stringify(request(99, 'status'))));
    await this.#send(dice, witness.socket, frames);
    await (isFatal ? witness.closed : witness.until(expected.length));
    this.requests += expected.length;
    this.answers += witness.answers.length;
    if (isFatal) this.ended += 1;
    check(witness, expected, isFatal);
    witness.socket.end();
    await witness.closed;
    if (!isFatal && witness.answers.length !== expected.length) throw new Error('an answer nobody asked for');
  }

  async #admit(witness: Witness, name: string): Promise<void> {
    const identity = this.#identity(name);
    const line = helloLine(identity, this.socketId);
    witness.socket.write(`${line}\n`);
    await witness.until(1);
    const { proofC } = proofsFor(identity, line, witness.answers[0]);
    witness.socket.write(`${JSON.stringify(prove(proofC))}\n`);
    await witness.until(2);
    if (!witness.answers[1] || !('result' in witness.answers[1]))
      throw new Error('an honest client was refused');
    witness.answers.length = 0;
  }

  async #send(dice: Dice, socket: net.Socket, frames: readonly Buffer[]): Promise<void> {
    this.frames += frames.length;
    const all = Buffer.concat(frames.flatMap((frame) => [frame, Buffer.from('\n')]));
    if (!dice.oneIn(3)) {
      socket.write(all);
      return;
    }
    // In pieces that come at different times, cut anywhere.
    let from = 0;
    for (const cut of Array.from({ length: 3 }, () => dice.below(all.length)).sort((a, b) => a - b)) {
      socket.write(all.subarray(from, cut));
      from = cut;
      await nextTurn();
    }
    socket.write(all.subarray(from));
  }

  #identity(name: string): Identity {
    const identity = this.#identities.get(name);
    if (!identity) throw new Error(`no identity ${name}`);
    return identity;
  }
}

/** What a method may do: answer, refuse, fail with a secret in hand, answer what JSON can't say. */
const outcomes: readonly ((params: unknown) => unknown)[] = [
  (params) => ({ params }),
  () => ({}),
  () => undefined,
  () => null,
  () => 'x'.repeat(2000),
  () => 1n,
  () => {
    const circle: Record<string, unknown> = {};
    circle['circle'] = circle;
    return circle;
  },
  () => {
    throw new Error(secret);
  },
  () => {
    throw new KeyturnError('login_failed', 'no', { hint: 'look', cause: new Error(secret) });
  },
  () => ({
    toJSON: () => {
      throw new Error(secret);
    },
  }),
];

function clientFrame(dice: Dice): Buffer {
  const line = requestText(dice);
  if (dice.oneIn(20)) return bentText(dice, line);
  if (dice.oneIn(40)) return Buffer.from(bentMessage(dice, line));
  if (dice.oneIn(2000)) return Buffer.from(line.padEnd(frameLimit + dice.below(2), ' '));
  return Buffer.from(line);
}

function isOffer(result: unknown): boolean {
  if (typeof result !== 'object' || result === null) return false;
  return Object.keys(result).sort().join() === 'brokerId,capabilities,nonce,proof,version';
}

/** Each answer has exactly one of result and error, and an id that was asked with. */
function check({ answers, broke }: Witness, expected: readonly string[], isFatal: boolean): void {
  const open = [...expected];
  for (const [i, answer] of answers.entries()) {
    if (answer['jsonrpc'] !== '2.0' || 'result' in answer === 'error' in answer) {
      throw new Error(`no answer: ${JSON.stringify(answer).slice(0, 500)}`);
    }
    if (isFatal && i === answers.length - 1 && answer['id'] === null && 'error' in answer) return;
    const at = open.indexOf(JSON.stringify(answer['id']));
    if (at < 0) throw new Error(`an answer to nothing: ${JSON.stringify(answer).slice(0, 500)}`);
    open.splice(at, 1);
  }
  if (isFatal && !broke) throw new Error('a malformed frame ended the connection without a word');
  if (!isFatal && open.length > 0) throw new Error(`${open.length} requests were not answered`);
}

/** Throws at the first broken promise, with the seed in its message. */
export async function fuzz({ frames, seed }: FuzzOptions): Promise<FuzzReport> {
  const descriptors = openDescriptors();
  const fuzzer = new Fuzzer(seed);
  const server = await fuzzer.start();
  fuzzer.socketId = server.socketId;
  const run = (until: number) =>
    Promise.all(Array.from({ length: lanes }, (_, lane) => fuzzer.lane(lane, until)));
  try {
    await run(frames / 10);
    const before = memory();
    await run(frames);
    const heapGrowth = memory() - before;
    await server.close();
    const { connections, requests, answers, ended } = fuzzer;
    const descriptorGrowth = openDescriptors() - descriptors;
    return {
      seed,
      frames: fuzzer.frames,
      connections,
      requests,
      answers,
      ended,
      heapGrowth,
      descriptorGrowth,
    };
  } finally {
    await server.close();
  }
}
