/**
 * The client's end of the bridge: messages a line in, messages a line out, at a pace.
 *
 * Invariant: nothing but messages goes to standard output; a line that is none is answered with an error of JSON-RPC.
 * Memory is bounded, though the client writes and never reads.
 */
import { isUtf8 } from 'node:buffer';
import type { Readable, Writable } from 'node:stream';
import { rpcErrors } from './base/errors.ts';
import { fieldsOf, idOf, jsonIn } from './base/json.ts';
import { heldBytes } from './base/limits.ts';
import { Lines } from './lines.ts';
import {
  type Answer,
  errorAnswer,
  isAnswer,
  isNothing,
  isRequest,
  keptText,
  type JSONRPCMessage,
  messageOf,
  type RequestId,
  type RpcError,
  withOwnId,
} from './base/messages.ts';

export interface ClientSideOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** `size`: bytes of its line. */
  readonly onMessage: (message: JSONRPCMessage, size: number) => void;
  readonly onEnd: () => void;
}

/** Several requests on one line (revision 2025-03-26): their answers go out together. */
interface Batch {
  readonly open: Set<RequestId>;
  readonly answers: object[];
}

export class ClientSide {
  readonly #options: ClientSideOptions;
  readonly #lines: Lines;
  readonly #stdout: Writable;
  readonly #batches = new Set<Batch>();
  #isFirst = true;
  /** One for all who wait. */
  #drained: Promise<void> | undefined;

  constructor(options: ClientSideOptions) {
    const { stdin, stdout, onEnd } = options;
    this.#options = options;
    this.#stdout = stdout;
    this.#lines = new Lines(stdin, {
      onLine: (line) => this.#read(line),
      tooLong: () => this.#complain(rpcErrors.tooLongRequest),
      onEnd,
    });
  }

  start(): void {
    // Nobody reads any more.
    for (const event of ['error', 'close']) this.#stdout.once(event, () => this.#lines.end());
    this.#lines.begin();
  }

  /** Resolves when it was written. A client that is gone gets nothing more. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (!isAnswer(message)) this.#write(message);
    else if (message.id !== undefined && !this.settle(message.id, message)) this.#write(withOwnId(message));
    await this.ready();
  }

  /** Resolves when the client takes more. */
  async ready(): Promise<void> {
    if (this.#stdout.writableNeedDrain) await (this.#drained ??= this.#drain());
  }

  async #drain(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    for (const event of ['drain', 'close', 'error']) this.#stdout.once(event, resolve);
    await promise;
    for (const event of ['drain', 'close', 'error']) this.#stdout.off(event, resolve);
    this.#drained = undefined;
  }

  slow(isSlow: boolean): void {
    this.#lines.slow(isSlow);
  }

  close(): void {
    this.#lines.end();
  }

  /** True if the request came in a batch. Without an answer the client has cancelled it. */
  settle(id: RequestId, answer?: Answer): boolean {
    for (const batch of this.#batches) {
      if (!batch.open.delete(id)) continue;
      if (answer) batch.answers.push(withOwnId(answer));
      this.#finish(batch);
      return true;
    }
    return false;
  }

  #finish(batch: Batch): void {
    if (batch.open.size > 0) return;
    this.#batches.delete(batch);
    if (batch.answers.length > 0) this.#write(batch.answers);
  }

  #read(line: Buffer): void {
    const text = line.toString();
    // Some shells and editors begin with a byte order mark.
    const value = jsonIn(this.#isFirst ? text.replace(/^\uFEFF/, '') : text);
    this.#isFirst = false;
    if (value === undefined) return this.#complain(rpcErrors.parseError);
    // A byte that is replaced changes what a tool is asked to do.
    if (!isUtf8(line)) return this.#leaveOut([value].flat());
    if (!Array.isArray(value)) return this.#take(value, line.length, (problem) => this.#write(problem));
    if (value.length === 0) return this.#complain(rpcErrors.invalidRequest);
    this.#takeAll(value, line.length);
  }

  #leaveOut(values: readonly unknown[]): void {
    const requests = values.flatMap((value) => messageOf(value) ?? []).filter(isRequest);
    if (requests.length === 0) this.#complain(rpcErrors.notUtf8);
    for (const { id } of requests) this.#write(withOwnId(errorAnswer(id, rpcErrors.notUtf8)));
  }

  #takeAll(values: readonly unknown[], size: number): void {
    const batch: Batch = { open: new Set(), answers: [] };
    const requests = values.flatMap((value) => messageOf(value) ?? []).filter(isRequest);
    for (const { id } of requests) batch.open.add(id);
    if (batch.open.size > 0) this.#batches.add(batch);
    for (const value of values)
      this.#take(value, Math.ceil(size / values.length), (problem, id) => {
        batch.answers.push(problem);
        if (id !== null) batch.open.delete(id);
      });
    this.#finish(batch);
  }

  #take(value: unknown, size: number, refuse: (problem: object, id: RequestId | null) => void): void {
    const problem = problemOf(value);
    const message = problem ? undefined : messageOf(value);
    if (message) return this.#options.onMessage(message, size);
    const { id: written, method } = fieldsOf(value);
    const id = typeof method === 'string' ? (idOf(written) ?? null) : null;
    const error = problem ?? rpcErrors.invalidRequest;
    refuse(id === null ? { jsonrpc: '2.0', id, error } : withOwnId(errorAnswer(id, error)), id);
  }

  /** JSON-RPC 2.0, §5: the id is null where the request's is unknown. */
  #complain(error: RpcError): void {
    this.#write({ jsonrpc: '2.0', id: null, error });
  }

  #write(message: object): void {
    if (!this.#stdout.writable) return;
    const text = textOf(message);
    if (text === undefined) return;
    // Not as one string: a large one would be copied for its last byte.
    this.#stdout.cork();
    this.#stdout.write(text);
    this.#stdout.write('\n');
    this.#stdout.uncork();
    if (this.#stdout.writableLength > heldBytes) this.#lines.hold(this.ready());
  }
}

/** What is wrong with a value that isn't a message in a form that servers take. */
function problemOf(value: unknown): RpcError | undefined {
  const { jsonrpc, id, method, params } = fieldsOf(value);
  if (jsonrpc !== '2.0') return rpcErrors.invalidRequest;
  if (typeof method !== 'string') return method === undefined ? undefined : rpcErrors.invalidRequest;
  if (!isNothing(params) && (typeof params !== 'object' || Array.isArray(params)))
    return id === undefined ? rpcErrors.invalidRequest : rpcErrors.invalidParams;
  return id === undefined || idOf(id) !== undefined ? undefined : rpcErrors.invalidRequest;
}

/** Undefined: it can't be written, and nobody waits for it. */
function textOf(message: object): string | undefined {
  try {
    return keptText(message) ?? JSON.stringify(message);
  } catch {
    // JSON.parse reads what JSON.stringify finds too deep.
    const id = 'method' in message ? undefined : idOf(fieldsOf(message)['id']);
    return id === undefined ? undefined : JSON.stringify(withOwnId(errorAnswer(id, rpcErrors.tooDeep)));
  }
}
