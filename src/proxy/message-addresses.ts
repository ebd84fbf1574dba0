/**
 * The older transport (MCP 2024-11-05, HTTP with SSE): its stream names a second address, to which the client then
 * sends its messages. endpoint-events.ts reads the stream.
 *
 * Invariants: the client gets an address of the proxy in place of the server's, so that no message goes past the
 * proxy. Where that leads is in memory, as long as the stream is open; nothing that a client says decides it. It is
 * of the server's own origin.
 */
import { randomBytes } from 'node:crypto';
import { KeyturnError } from '../base/errors.ts';
import { HttpRefusal } from './http-refusal.ts';
import type { Destination } from './upstream.ts';

const queryOf = (id: string): string => `?keyturn-messages=${id}`;

/** Addresses that one stream keeps. Servers name one; without an end, a hostile one would fill the memory of all proxies. */
const maxOfStream = 16;

/** What one stream has named. If it names more than are kept, the oldest ends. */
export class StreamAddresses {
  readonly #all: MessageAddresses;
  #named: string[] = [];

  constructor(all: MessageAddresses) {
    this.#all = all;
  }

  /** As `MessageAddresses.add`. */
  add(destination: Destination): string {
    const query = this.#all.add(destination);
    this.#named.push(query);
    if (this.#named.length > maxOfStream) this.#all.remove(this.#named.shift() ?? '');
    return query;
  }

  /** The stream has ended, and so do its addresses. */
  end(): void {
    for (const query of this.#named) this.#all.remove(query);
  }
}

/** The addresses for messages of one app, each while its stream is open. */
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
    const problem = 'the stream that this address for messages belongs to has ended';
    throw new HttpRefusal(404, 'not_found', problem, { hint: 'Open the stream again.' });
  }
}

/** The server's address for messages. Throws `resource_mismatch` for one of another origin. */
export function messageUrl(named: string, streamUrl: string): string {
  const url = URL.parse(named, streamUrl);
  if (url && url.origin === new URL(streamUrl).origin) return url.href;
  throw new KeyturnError('resource_mismatch', 'the MCP server wants its messages at another origin', {
    rule: 'A token goes to the origin that a user approved',
  });
}
