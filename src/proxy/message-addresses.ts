/**
 * The older transport (MCP 2024-11-05, HTTP with SSE): the first event of its stream names a second address, to which the
 * client then sends its messages.
 *
 * Invariants: the client gets an address of the proxy in place of the server's, so that no message goes past the proxy. Where
 * that leads is in memory, as long as the stream is open; nothing that a client says decides it. It is of the server's own
 * origin.
 */
import { randomBytes } from 'node:crypto';
import { KeyturnError } from '../base/errors.ts';
import { HttpRefusal } from './http-refusal.ts';
import type { Destination } from './upstream.ts';

/** Bytes: more than any address needs. A longer beginning of a stream passes as it is. */
const maxBeginning = 8192;

const queryOf = (id: string): string => `?keyturn-messages=${id}`;

/** The addresses for messages of one program, each while its stream is open. */
export class MessageAddresses {
  readonly #known = new Map<string, Destination>();

  /** Answers the query by which the client names this address at the proxy. */
  add(destination: Destination): string {
    const query = queryOf(randomBytes(16).toString('hex'));
    this.#known.set(query, destination);
    return query;
  }

  remove(query: string): void {
    this.#known.delete(query);
  }

  /** Undefined for a query that is the server's business. Throws `HttpRefusal` for an address that is over. */
  at(query: string): Destination | undefined {
    const known = this.#known.get(query);
    if (known || !query.startsWith(queryOf(''))) return known;
    throw new HttpRefusal(
      404,
      'not_found',
      'the stream that this address for messages belongs to has ended',
      {
        hint: 'Open the stream again.',
      },
    );
  }
}

/** The server's address for messages. Throws `resource_mismatch` for one of another origin. */
export function messageUrl(named: string, streamUrl: string): string {
  const url = URL.parse(named, streamUrl);
  if (url && url.origin === new URL(streamUrl).origin) return url.href;
  throw new KeyturnError('resource_mismatch', 'the protected server wants its messages at another origin', {
    rule: 'A token goes to the origin that a person approved',
  });
}

/** The stream with its first event changed by `readdress` where that is an `endpoint` event. Throws what `readdress` throws. */
export async function* readdressed(
  stream: AsyncIterable<Uint8Array>,
  readdress: (named: string) => string,
): AsyncGenerator<Uint8Array> {
  let held: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of stream) {
    if (!held) {
      yield chunk;
      continue;
    }
    held = Buffer.concat([held, chunk]);
    for (let end = blockEnd(held); held && end !== undefined; end = held && blockEnd(held)) {
      const block: Buffer = held.subarray(0, end);
      const { event, data } = fieldsIn(block);
      yield event === 'endpoint' && data !== undefined ? endpointEvent(readdress(data)) : block;
      const rest: Buffer = held.subarray(end);
      // A block without data is no event yet: a comment, say.
      held = data === undefined ? rest : undefined;
      if (!held && rest.byteLength > 0) yield rest;
    }
    if (held && held.byteLength > maxBeginning) {
      yield held;
      held = undefined;
    }
  }
  if (held && held.byteLength > 0) yield held;
}

const endpointEvent = (address: string): Buffer => Buffer.from(`event: endpoint\ndata: ${address}\n\n`);

/** Where the empty line after a block ends (HTML standard, 9.2.5: CR LF, LF or CR). */
function blockEnd(bytes: Buffer): number | undefined {
  const found = /(?:\r\n|\n|\r(?!\n)){2}/.exec(bytes.toString('latin1'));
  return found ? found.index + found[0].length : undefined;
}

function fieldsIn(block: Buffer): { readonly event?: string; readonly data?: string } {
  const lines = block
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\n|\r/);
  const values = (name: string): string[] =>
    lines
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).replace(/^ /, ''));
  const [event, data] = [values('event').at(-1), values('data')];
  return {
    ...(event === undefined ? {} : { event }),
    ...(data.length === 0 ? {} : { data: data.join('\n') }),
  };
}
