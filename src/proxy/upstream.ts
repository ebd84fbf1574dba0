/**
 * The way to the MCP server and back.
 *
 * Invariant: the answer is passed on as it comes, no faster than the client reads, and it leads the client nowhere: a
 * redirect out of the endpoint and a challenge that stands are errors.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fetch, type Dispatcher, type RequestInit as UndiciInit } from 'undici';
import { KeyturnError, shellWord, Unreachable } from '../base/errors.ts';
import { headersToAnswer, headersToSend } from './headers.ts';

/** What a request says to the fetch below, besides what the Fetch standard knows. */
interface Told extends RequestInit {
  /** Called when it leaves with a token, or an API key. */
  readonly leaving?: () => void;
}

/** A fetch over these connections. */
export function sendVia(dispatcher: Dispatcher): typeof globalThis.fetch {
  return async (input, init: Told = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const { leaving, ...sent } = init;
    leaving?.();
    try {
      // undici's types and Node's describe one and the same fetch.
      return await fetch(url, { ...(sent as unknown as UndiciInit), dispatcher });
    } catch (error) {
      throw unreachable(error);
    }
  };
}

/** The MCP server of one app. `fetch` attaches that app's token. */
export interface Destination {
  readonly resource: string;
  readonly fetch: typeof globalThis.fetch;
}

export interface ForwardedRequest {
  readonly request: IncomingMessage;
  /** With its `?`, or empty. */
  readonly query: string;
  readonly body: Buffer<ArrayBuffer> | undefined;
  readonly signal: AbortSignal;
  /** Called when the request leaves with a token, or an API key. */
  readonly leaving: () => void;
}

/** Throws the broker's refusals, `mcp_server_unreachable`, and what `refusalIn` makes of the answer. */
export async function askServer(
  destination: Destination,
  { request, query, body, signal, leaving }: ForwardedRequest,
): Promise<Response> {
  const url = new URL(destination.resource);
  if (query !== '' && url.search !== '') {
    throw new KeyturnError('invalid_request', 'the address of the MCP server has a query of its own', {
      hint: 'Use the address of the proxy without one.',
    });
  }
  if (query !== '') url.search = query;
  const asked: Told = {
    method: request.method ?? 'GET',
    headers: headersToSend(request.rawHeaders),
    body: body ?? null,
    signal,
    leaving,
  };
  const answer = await destination.fetch(url.href, asked);
  const refusal = refusalIn(answer, destination.resource);
  if (!refusal) return answer;
  await answer.body?.cancel();
  throw refusal;
}

function refusalIn({ status }: Response, resource: string): KeyturnError | undefined {
  if (status === 401) {
    return new KeyturnError('token_rejected', 'the MCP server rejects the token, and a new one as well', {
      hint: `Run \`keyturn sign-in show ${shellWord(resource)}\` to see why; \`keyturn login ${shellWord(resource)}\` signs in again.`,
    });
  }
  if (status < 300 || status >= 400 || status === 304) return undefined;
  const problem = 'the MCP server redirects out of the address that you allowed';
  return new KeyturnError('resource_mismatch', problem, {
    rule: 'A token goes to the origin and path that a user approved, redirects included',
    hint: 'Add a proxy for the new address: keyturn proxy add URL',
  });
}

export interface Passing {
  readonly signal: AbortSignal;
  /** Changes the body on its way. */
  readonly change?: (body: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
}

/** Resolves when all of it has left. */
export async function passOn(
  answer: Response,
  response: ServerResponse,
  { signal, change }: Passing,
): Promise<void> {
  const headers = headersToAnswer(answer);
  if (change) Reflect.deleteProperty(headers, 'content-length');
  response.writeHead(answer.status, headers);
  // A stream may be silent for long: the client waits for its beginning.
  response.flushHeaders();
  if (!answer.body) {
    response.end();
    return;
  }
  const body = Readable.fromWeb(answer.body);
  await pipeline(change ? change(body) : body, response, { signal });
}

/** A refusal of ours on the way, e.g. of a private address, is what it is. */
function unreachable(error: unknown): unknown {
  if (!(error instanceof Error) || error.name === 'AbortError' || error instanceof KeyturnError) return error;
  if (error.cause instanceof KeyturnError) return error.cause;
  return new Unreachable('mcp_server_unreachable', 'the MCP server does not answer', {
    hint: 'See whether it runs, and whether its address is right.',
    cause: error,
  });
}
