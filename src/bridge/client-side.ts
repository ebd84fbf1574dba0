/**
 * The client's end of the bridge: the SDK's stdio transport, with whole lines in and a pace out.
 *
 * Invariant: nothing but messages goes to standard output; a line that is none is answered with an error of JSON-RPC.
 * Memory is bounded, though the client writes and never reads.
 */
import { serializeMessage } from '@modelcontextprotocol/client';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import type { Readable, Writable } from 'node:stream';
import { invalidParams, invalidRequest, parseError, tooDeep, tooLongRequest } from './base/errors.ts';
import { fieldsOf } from './base/envelope.ts';
import { heldBytes, maxMessage } from './base/limits.ts';
import { Lines } from './lines.ts';
import {
  errorAnswer,
  isAnswer,
  type JSONRPCMessage,
  listen,
  type RequestId,
  type RpcError,
} from './base/messages.ts';

export interface ClientSideOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** `size`: bytes of its line. */
  readonly onMessage: (message: JSONRPCMessage, size: number) => void;
  readonly onEnd: () => void;
}

export class ClientSide {
  readonly #transport: StdioServerTransport;
  readonly #lines: Lines;
  readonly #stdout: Writable;
  /** One for all who wait. */
  #drained: Promise<void> | undefined;

  constructor({ stdin, stdout, onMessage, onEnd }: ClientSideOptions) {
    this.#stdout = stdout;
    this.#lines = new Lines(stdin, {
      tooLong: () => this.#complain(tooLongRequest),
      noJson: () => this.#complain(parseError),
    });
    // Lines.ts holds the bound; the transport gets whole lines.
    this.#transport = new StdioServerTransport(this.#lines, stdout, { maxBufferSize: maxMessage + 1 });
    listen(this.#transport, {
      onmessage: (message) => {
        this.#lines.heard();
        onMessage(message, this.#lines.size);
      },
      onerror: () => {
        const { line } = this.#lines;
        // Not about a line: the output broke, and the transport closes by itself.
        if (line === '') return;
        this.#lines.heard();
        const { id, isCall } = callIn(line);
        this.#complain(isCall ? invalidParams : invalidRequest, id);
      },
      onclose: onEnd,
    });
  }

  async start(): Promise<void> {
    await this.#transport.start();
    this.#lines.begin();
  }

  /** Resolves when it was written. A client that is gone gets nothing more. */
  async send(message: JSONRPCMessage): Promise<void> {
    this.#write(messageLine(message));
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

  async close(): Promise<void> {
    await this.#transport.close();
  }

  /** JSON-RPC 2.0, §5: the id is null where the request's is unknown. */
  #complain(error: RpcError, id: RequestId | null = null): void {
    this.#write(`${JSON.stringify({ jsonrpc: '2.0', id, error })}\n`);
  }

  #write(line: string | undefined): void {
    if (line === undefined || !this.#stdout.writable) return;
    this.#stdout.write(line);
    if (this.#stdout.writableLength > heldBytes) this.#lines.hold(this.ready());
  }
}

/**
 * What is known of a line that is JSON and no message. `isCall`: it names version, method and id, so its parameters
 * are wrong.
 */
function callIn(line: string): { readonly id: RequestId | null; readonly isCall: boolean } {
  const { jsonrpc, id, method } = fieldsOf(JSON.parse(line));
  const isKnown = (typeof id === 'string' || Number.isSafeInteger(id)) && typeof method === 'string';
  return { id: isKnown ? (id as RequestId) : null, isCall: isKnown && jsonrpc === '2.0' };
}

/** Undefined: it can't be written, and nobody waits for it. */
function messageLine(message: JSONRPCMessage): string | undefined {
  try {
    return serializeMessage(message);
  } catch {
    // JSON.parse reads what JSON.stringify finds too deep.
    return isAnswer(message) && message.id !== undefined
      ? serializeMessage(errorAnswer(message.id, tooDeep))
      : undefined;
  }
}
