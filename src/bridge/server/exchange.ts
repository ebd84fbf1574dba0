/**
 * One HTTP exchange of the transport, as the bridge needs to know it: what the server answered, in bounds and at the
 * pace at which the client reads.
 *
 * Invariant: no piece of an answer is read before the client took the earlier ones; no message grows past the limit.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { maxMessage } from '../base/limits.ts';
import type { RequestId } from '../base/messages.ts';

/** What became of one message that the transport sent. */
export interface Exchange {
  /** The client's request that this is about. */
  readonly about?: RequestId;
  /** Where this is the listening stream: takes the milliseconds that the SDK would wait when it is over. */
  readonly listening?: (delay: number) => void;
  /** The URL that a server of the older transport named for messages, where this is one. */
  named?: string;
  /** The status of the server's last answer. */
  status?: number;
  /** The origin to which the server's last answer redirects, where it does. */
  redirectsTo?: string;
  /** The answer is a stream of events: its messages come later. */
  isStream?: boolean;
  /** The answer was cut: it holds a message over the limit. */
  isTooLarge?: boolean;
}

/** The transport keeps its fetch's answers to itself, so they are noted on the way. */
export const exchanges = new AsyncLocalStorage<Exchange>();

export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

interface Hooks {
  /** Resolves when the client takes more. */
  readonly ready: () => Promise<void>;
  /** Called with each answer, before the transport sees it. */
  readonly seen: (response: Response, init: RequestInit | undefined) => void;
}

const nullBodyStatuses = new Set([101, 103, 204, 205, 304]);

/** `fetch` with its answers noted, bounded and paced. */
export function watchedFetch(fetch: Fetch, { ready, seen }: Hooks, limit = maxMessage): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    const exchange = exchanges.getStore() ?? {};
    const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
    exchange.status = response.status;
    exchange.isStream = isStream && response.ok;
    const target = redirectOrigin(response, url);
    if (target !== undefined) exchange.redirectsTo = target;
    seen(response, init);
    if (!response.body || nullBodyStatuses.has(response.status)) return response;
    const body = paced(response.body, ready, isStream ? eventBound(limit) : wholeBound(limit), () => {
      exchange.isTooLarge = true;
    });
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
}

/** Names only the origin of its target: path and query may hold a secret. */
function redirectOrigin({ status, headers }: Response, from: string | URL): string | undefined {
  const location = headers.get('location');
  if (status < 300 || status > 399 || location === null) return undefined;
  const target = URL.parse(location, new URL(from).href);
  return target && /^https?:$/.test(target.protocol) ? target.origin : undefined;
}

/** True while the bytes so far are within a bound. */
type Bound = (chunk: Uint8Array) => boolean;

/** A stream that is pulled, with nothing in it: a `TransformStream` costs as much as the request itself. */
function paced(
  source: ReadableStream<Uint8Array>,
  ready: () => Promise<void>,
  isWithin: Bound,
  tooLarge: () => void,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    await ready();
    const { done, value } = await reader.read();
    if (done) return controller.close();
    if (isWithin(value)) return controller.enqueue(value);
    tooLarge();
    controller.error(new RangeError('the answer is larger than one message may be'));
    await reader.cancel();
  };
  return new ReadableStream({ pull, cancel: async (reason) => reader.cancel(reason) }, { highWaterMark: 0 });
}

function wholeBound(limit: number): Bound {
  let length = 0;
  return (chunk) => {
    length += chunk.length;
    return length <= limit;
  };
}

const newline = 0x0a;
const carriageReturn = 0x0d;

/**
 * Of a stream of events: the bytes since the last empty line, which ends an event. A line ends with LF, CR or both
 * (HTML standard, Parsing an event stream).
 */
function eventBound(limit: number): Bound {
  let event = 0;
  // Of the line that isn't over.
  let length = 0;
  // An LF that comes next belongs to it.
  let wasReturn = false;
  return ({ buffer, byteOffset, byteLength }) => {
    if (byteLength === 0) return event <= limit;
    // A Buffer finds a byte several times as fast as a plain Uint8Array.
    const chunk = Buffer.from(buffer, byteOffset, byteLength);
    let start = wasReturn && chunk[0] === newline ? 1 : 0;
    // Each is looked for again only once it was passed: a long line is read once.
    let feed = chunk.indexOf(newline, start);
    let carriage = chunk.indexOf(carriageReturn, start);
    while (feed !== -1 || carriage !== -1) {
      const isReturn = carriage !== -1 && (feed === -1 || carriage < feed);
      const end = isReturn ? carriage : feed;
      event = length + end - start === 0 ? 0 : event + end + 1 - start;
      length = 0;
      start = isReturn && feed === end + 1 ? end + 2 : end + 1;
      if (feed !== -1 && feed < start) feed = chunk.indexOf(newline, start);
      if (carriage !== -1 && carriage < start) carriage = chunk.indexOf(carriageReturn, start);
    }
    wasReturn = chunk[chunk.length - 1] === carriageReturn;
    length += chunk.length - start;
    event += chunk.length - start;
    return event <= limit;
  };
}
