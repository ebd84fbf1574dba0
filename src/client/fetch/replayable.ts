/**
 * A request of the Fetch API that can be sent more than once: after a challenge, after a redirect.
 *
 * Invariant: its body was read once, and each sending has the same bytes.
 */
import { KeyturnError } from '../../base/errors.ts';

export interface ReplayableRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array<ArrayBuffer> | undefined;
  readonly signal: AbortSignal | undefined;
  readonly redirect: NonNullable<RequestInit['redirect']>;
  /** Settings that only the given fetch knows, e.g. `dispatcher`. */
  readonly rest: RequestInit;
}

/** Reads the request's body once, so that it can be sent after a challenge. */
export async function replayable(
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<ReplayableRequest> {
  if (isStream(init.body)) {
    throw new KeyturnError('invalid_request', 'a body that is a stream could not be sent again after a 401', {
      hint: 'Give the body as a string, Uint8Array, Blob, URLSearchParams or FormData.',
    });
  }
  return plain(input, init) ?? read(new Request(input, init), init);
}

/** A POST of text with a known type needs no `Request`: to make one costs as much as asking the broker. */
function plain(input: string | URL | Request, init: RequestInit): ReplayableRequest | undefined {
  const { method = 'GET', body, signal, redirect = 'follow' } = init;
  const headers = new Headers(init.headers);
  if (input instanceof Request || typeof body !== 'string' || !headers.has('content-type')) return undefined;
  // Any other method is for `Request` to refuse or to spell.
  if (method !== 'POST') return undefined;
  const url = new URL(input);
  if (url.username !== '' || url.password !== '') return undefined;
  const rest = init;
  return { url, method, headers, body: encoder.encode(body), signal: signal ?? undefined, redirect, rest };
}

const encoder = new TextEncoder();

async function read(request: Request, init: RequestInit): Promise<ReplayableRequest> {
  const body = request.body ? new Uint8Array(await request.arrayBuffer()) : undefined;
  const { method, signal, redirect } = request;
  const [url, headers] = [new URL(request.url), new Headers(request.headers)];
  return { url, method, headers, body, signal, redirect, rest: init };
}

function isStream(body: unknown): boolean {
  if (body instanceof ReadableStream) return true;
  // Node's fetch also takes async iterables; a Blob or FormData isn't one.
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

/** What fetch gets to send it. Redirects come back as answers, for the caller to judge. */
export function initOf({ method, headers, body, signal, redirect, rest }: ReplayableRequest): RequestInit {
  return {
    ...rest,
    method,
    headers,
    body: body ?? null,
    ...(signal && { signal }),
    redirect: redirect === 'error' ? 'error' : 'manual',
  };
}
