/**
 * Questions to a bus of D-Bus, asked by hand: the few that tell whether a keychain is there, who draws the tray, and which
 * session of logind's is ours.
 *
 * Invariant: nothing is started. Each message carries NO_AUTO_START, and no other program is run. It ends within a
 * bounded time, and reads a bounded answer. (D-Bus specification: Message Protocol, Authentication Protocol.)
 */
import { once } from 'node:events';
import net from 'node:net';

/** What the questions here are answered with. */
export type BusValue = string | boolean | readonly string[] | undefined;

export interface BusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly texts?: readonly string[];
}

/** Asks one question on an open connection. Rejects where the bus, or who was asked, refuses. */
export type AskBus = (call: BusCall) => Promise<BusValue>;

/** Milliseconds for all of it: a bus on this machine answers in one. */
const timeout = 2000;

/** Bytes. The names of all services that could be started take a few thousand. */
const maxAnswer = 1024 * 1024;

const methodCall = 1;
const errorReply = 3;
/** Nobody is started to answer; and a user isn't asked for anything. */
const noAutoStart = 0x2;

/** The socket of an address, e.g. `unix:path=/run/user/1000/bus`; undefined for one of another kind. */
export function busSocket(address: string): string | undefined {
  for (const one of address.split(';')) {
    const [, kind, name = ''] = /^unix:(?:.*,)?(path|abstract)=([^,]+)/.exec(one) ?? [];
    // Each %XX is a byte, and several bytes may form one character.
    const text = name.replaceAll(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
      Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
    );
    if (kind !== undefined) return kind === 'path' ? text : `\0${text}`;
  }
  return undefined;
}

/** Connects, runs `work`, hangs up. Rejects where no bus answers in time. */
export async function withBus<T>(address: string, work: (ask: AskBus) => Promise<T>): Promise<T> {
  const path = busSocket(address);
  if (path === undefined) throw new Error('the bus has no Unix socket');
  const socket = net.connect(path);
  const late = setTimeout(() => socket.destroy(new Error('the bus does not answer')), timeout);
  try {
    await once(socket, 'connect');
    const pieces = new Pieces(socket);
    // Authentication: who we are is what the kernel says of the socket.
    socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(process.getuid?.() ?? 0)).toString('hex')}\r\n`);
    if (!(await pieces.line()).startsWith('OK ')) throw new Error('the bus lets us not in');
    socket.write('BEGIN\r\n');
    let serial = 0;
    const ask: AskBus = async (call) => {
      serial += 1;
      socket.write(encoded(call, serial));
      return pieces.answerTo(serial);
    };
    await ask({ ...bus, member: 'Hello' });
    return await work(ask);
  } finally {
    clearTimeout(late);
    socket.destroy();
  }
}

export const bus = {
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
} as const;

/** What comes in, by lines and then by messages. */
class Pieces {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(socket: net.Socket) {
    this.#chunks = socket[Symbol.asyncIterator]();
  }

  async line(): Promise<string> {
    while (!this.#held.includes('\r\n')) await this.#more();
    const end = this.#held.indexOf('\r\n');
    return this.#take(end + 2).toString('latin1');
  }

  /** Skips signals and answers to others. */
  async answerTo(serial: number): Promise<BusValue> {
    for (;;) {
      const message = await this.#message();
      if (message.replyTo !== serial) continue;
      if (message.type === errorReply) throw new Error('the bus refused');
      return message.value;
    }
  }

  async #message(): Promise<Reply> {
    const head = await this.#peek(16);
    if (head[0] !== 'l'.charCodeAt(0)) throw new Error('the bus speaks another byte order');
    const fields = head.readUInt32LE(12);
    const start = aligned(16 + fields, 8);
    const whole = start + head.readUInt32LE(4);
    await this.#peek(whole);
    return decoded(this.#take(whole), start);
  }

  async #peek(length: number): Promise<Buffer> {
    if (length > maxAnswer) throw new Error('the answer of the bus is too long');
    while (this.#held.length < length) await this.#more();
    return this.#held.subarray(0, length);
  }

  #take(length: number): Buffer {
    const taken = this.#held.subarray(0, length);
    this.#held = this.#held.subarray(length);
    return taken;
  }

  async #more(): Promise<void> {
    const next = await this.#chunks.next();
    if (next.done === true) throw new Error('the bus closed the connection');
    this.#held = Buffer.concat([this.#held, next.value]);
  }
}

function aligned(offset: number, to: number): number {
  return Math.ceil(offset / to) * to;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Appends, after the zeros that its alignment asks for. */
function append(bytes: Buffer, alignment: number, more: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc(aligned(bytes.length, alignment) - bytes.length), more]);
}

const text = (value: string): Buffer =>
  Buffer.concat([uint32(Buffer.byteLength(value)), Buffer.from(`${value}\0`)]);

const signature = (value: string): Buffer => Buffer.from(`${String.fromCharCode(value.length)}${value}\0`);

function encoded(call: BusCall, serial: number): Buffer {
  const { destination, path, member, texts = [] } = call;
  const body = texts.reduce<Buffer>((bytes, value) => append(bytes, 4, text(value)), Buffer.alloc(0));
  const named = [
    [1, 'o', path],
    [2, 's', call.interface],
    [3, 's', member],
    [6, 's', destination],
  ] as const;
  // Each field begins at a multiple of 8: the array itself begins at byte 16.
  let fields: Buffer = Buffer.alloc(0);
  for (const [code, type, value] of named) {
    fields = append(fields, 8, Buffer.concat([Buffer.from([code]), signature(type)]));
    fields = append(fields, 4, text(value));
  }
  if (texts.length > 0)
    fields = append(
      fields,
      8,
      Buffer.concat([Buffer.from([8]), signature('g'), signature('s'.repeat(texts.length))]),
    );
  const head = Buffer.concat([
    Buffer.from(['l'.charCodeAt(0), methodCall, noAutoStart, 1]),
    uint32(body.length),
    uint32(serial),
    uint32(fields.length),
    fields,
  ]);
  return append(head, 8, body);
}

interface Reply {
  readonly type: number | undefined;
  readonly replyTo: number | undefined;
  readonly value: BusValue;
}

function decoded(message: Buffer, bodyStart: number): Reply {
  let at = 16;
  let replyTo: number | undefined;
  let form = '';
  const end = 16 + message.readUInt32LE(12);
  while (at < end) {
    at = aligned(at, 8);
    const code = message.readUInt8(at);
    const type = String.fromCharCode(message.readUInt8(at + 2));
    at += 4;
    if (type === 'g') {
      const length = message.readUInt8(at);
      if (code === 8) form = message.toString('latin1', at + 1, at + 1 + length);
      at += length + 2;
    } else {
      at = aligned(at, 4);
      const number = message.readUInt32LE(at);
      if (code === 5) replyTo = number;
      at += type === 'u' ? 4 : number + 5;
    }
  }
  return { type: message[1], replyTo, value: valueAt(message, bodyStart, form) };
}

/** The first value of a body, of the forms that are asked for here. */
function valueAt(message: Buffer, start: number, form: string): BusValue {
  const string = (at: number): string => message.toString('utf8', at + 4, at + 4 + message.readUInt32LE(at));
  if (form.startsWith('s') || form.startsWith('o')) return string(start);
  if (form.startsWith('b')) return message.readUInt32LE(start) === 1;
  if (form.startsWith('as')) {
    const texts: string[] = [];
    const end = start + 4 + message.readUInt32LE(start);
    for (let at = start + 4; at < end;) {
      at = aligned(at, 4);
      const next = string(at);
      texts.push(next);
      at += Buffer.byteLength(next) + 5;
    }
    return texts;
  }
  if (form.startsWith('v')) {
    const length = message.readUInt8(start);
    const inner = message.toString('latin1', start + 1, start + 1 + length);
    return inner === 'b' ? valueAt(message, aligned(start + 2 + length, 4), inner) : undefined;
  }
  return undefined;
}
