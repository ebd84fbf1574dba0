/**
 * A program on a D-Bus, as far as the tests need one that owns a name, answers calls and sends signals: the protocol by
 * hand, little-endian, for bodies of a few types.
 *
 * Invariant: nothing in it knows what the names on the bus mean.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** Types of a body, as the protocol writes them. `a{sb}as` is what PropertiesChanged has after its interface. */
export type Body =
  | readonly []
  | readonly ['s', string]
  | readonly ['su', string, number]
  | readonly ['o', string]
  | readonly ['b', boolean]
  | readonly ['sa{sv}as', string, Readonly<Record<string, boolean>>, readonly string[]];

export interface Call {
  readonly member: string;
  readonly argument: string;
}

const methodCall = 1;
const methodReturn = 2;
const signal = 4;

interface Message {
  readonly type: number;
  readonly body: Body;
  readonly path?: string;
  readonly interface?: string;
  readonly member?: string;
  readonly destination?: string;
  readonly replySerial?: number;
}

/** A growing buffer with the protocol's alignment. */
class Writer {
  #bytes: number[] = [];

  get length(): number {
    return this.#bytes.length;
  }

  pad(to: number): this {
    while (this.#bytes.length % to !== 0) this.#bytes.push(0);
    return this;
  }

  byte(value: number): this {
    this.#bytes.push(value);
    return this;
  }

  uint(value: number): this {
    this.pad(4);
    for (let shift = 0; shift < 32; shift += 8) this.#bytes.push((value >>> shift) & 0xff);
    return this;
  }

  string(value: string): this {
    this.uint(Buffer.byteLength(value));
    this.#bytes.push(...Buffer.from(value), 0);
    return this;
  }

  signature(value: string): this {
    this.#bytes.push(value.length, ...Buffer.from(value), 0);
    return this;
  }

  /** `alignment` of the elements comes before the first, and doesn't count as length. */
  array(alignment: number, write: () => void): this {
    this.uint(0);
    const at = this.#bytes.length - 4;
    this.pad(alignment);
    const start = this.#bytes.length;
    write();
    Buffer.from(new Uint8Array(new Uint32Array([this.#bytes.length - start]).buffer)).forEach(
      (byte, index) => (this.#bytes[at + index] = byte),
    );
    return this;
  }

  bytes(): Buffer {
    return Buffer.from(this.#bytes);
  }
}

function writeBody(body: Body): Buffer {
  const writer = new Writer();
  if (body[0] === 's' || body[0] === 'o') writer.string(body[1]);
  else if (body[0] === 'su') writer.string(body[1]).uint(body[2]);
  else if (body[0] === 'b') writer.uint(Number(body[1]));
  else if (body[0] === 'sa{sv}as') {
    const [, name, changed, invalidated] = body;
    writer.string(name).array(8, () => {
      for (const [key, value] of Object.entries(changed))
        writer.pad(8).string(key).signature('b').uint(Number(value));
    });
    writer.array(4, () => invalidated.forEach((key) => writer.string(key)));
  }
  return writer.bytes();
}

/** Fields of a header: their code, type and value. */
function fieldsOf(message: Message): (readonly [number, string, string | number])[] {
  const fields: [number, string, string | number | undefined][] = [
    [1, 'o', message.path],
    [2, 's', message.interface],
    [3, 's', message.member],
    [5, 'u', message.replySerial],
    [6, 's', message.destination],
    [8, 'g', message.body[0]],
  ];
  return fields.flatMap(([code, type, value]) => (value === undefined ? [] : [[code, type, value] as const]));
}

function writeMessage(message: Message, serial: number): Buffer {
  const body = writeBody(message.body);
  const writer = new Writer().byte('l'.charCodeAt(0)).byte(message.type).byte(0).byte(1);
  writer
    .uint(body.length)
    .uint(serial)
    .array(8, () => {
      for (const [code, type, value] of fieldsOf(message)) {
        writer.pad(8).byte(code).signature(type);
        if (typeof value === 'number') writer.uint(value);
        else if (type === 'g') writer.signature(value);
        else writer.string(value);
      }
    });
  return Buffer.concat([writer.pad(8).bytes(), body]);
}

interface Received {
  readonly type: number;
  readonly serial: number;
  readonly fields: ReadonlyMap<number, string>;
  readonly body: Buffer;
}

/** The first whole message and the rest; undefined while it isn't whole. */
function readMessage(bytes: Buffer): { readonly message: Received; readonly rest: Buffer } | undefined {
  if (bytes.length < 16) return undefined;
  const align = (at: number, to: number): number => Math.ceil(at / to) * to;
  const fieldsEnd = 16 + bytes.readUInt32LE(12);
  const start = align(fieldsEnd, 8);
  const end = start + bytes.readUInt32LE(4);
  if (bytes.length < end) return undefined;
  const fields = new Map<number, string>();
  let at = 16;
  while (at < fieldsEnd) {
    at = align(at, 8);
    const code = bytes[at] ?? 0;
    const type = String.fromCharCode(bytes[at + 2] ?? 0);
    at += 4;
    if (type === 'u') at += 4;
    else {
      const isShort = type === 'g';
      const length = isShort ? (bytes[at] ?? 0) : bytes.readUInt32LE(at);
      at += isShort ? 1 : 4;
      fields.set(code, bytes.toString('utf8', at, at + length));
      at += length + 1;
    }
  }
  const message = {
    type: bytes[1] ?? 0,
    serial: bytes.readUInt32LE(8),
    fields,
    body: bytes.subarray(start, end),
  };
  return { message, rest: bytes.subarray(end) };
}

export class BusPeer {
  readonly #socket: Socket;
  readonly #answer: (call: Call) => Body;
  #serial = 0;
  #unread = Buffer.alloc(0);
  #replies = 0;

  private constructor(socket: Socket, answer: (call: Call) => Body) {
    this.#socket = socket;
    this.#answer = answer;
    socket.on('data', (bytes) => this.#take(bytes));
  }

  /** On the bus at this socket, under this name where one is given. `answer` makes the body of each call's answer. */
  static async connect(
    socketPath: string,
    name?: string,
    answer: (call: Call) => Body = () => [],
  ): Promise<BusPeer> {
    const socket = connect(socketPath);
    await once(socket, 'connect');
    const user = Buffer.from(String(process.getuid?.())).toString('hex');
    socket.write(`\0AUTH EXTERNAL ${user}\r\n`);
    await once(socket, 'data');
    socket.write('BEGIN\r\n');
    const peer = new BusPeer(socket, answer);
    await peer.#askBus('Hello', []);
    if (name !== undefined) await peer.#askBus('RequestName', ['su', name, 0]);
    return peer;
  }

  signal(path: string, interfaceName: string, member: string, body: Body = []): void {
    this.#send({ type: signal, path, interface: interfaceName, member, body });
  }

  close(): void {
    this.#socket.destroy();
  }

  async #askBus(member: string, body: Body): Promise<void> {
    const bus = 'org.freedesktop.DBus';
    const before = this.#replies;
    this.#send({
      type: methodCall,
      path: '/org/freedesktop/DBus',
      interface: bus,
      destination: bus,
      member,
      body,
    });
    while (this.#replies === before) await once(this.#socket, 'data');
  }

  #send(message: Message): void {
    this.#serial += 1;
    this.#socket.write(writeMessage(message, this.#serial));
  }

  #take(bytes: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, bytes]);
    for (let read = readMessage(this.#unread); read; read = readMessage(this.#unread)) {
      this.#unread = Buffer.from(read.rest);
      const { type, serial, fields, body } = read.message;
      if (type === methodReturn) this.#replies += 1;
      if (type !== methodCall) continue;
      const argument = fields.get(8) === 's' ? body.toString('utf8', 4, 4 + body.readUInt32LE(0)) : '';
      const answer = this.#answer({ member: fields.get(3) ?? '', argument });
      const destination = fields.get(7) ?? '';
      this.#send({ type: methodReturn, replySerial: serial, destination, body: answer });
    }
  }
}
