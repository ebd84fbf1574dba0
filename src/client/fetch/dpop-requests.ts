/**
 * Requests with a token that is bound to a DPoP key of the broker (RFC 9449 §7): each has a proof of its own.
 *
 * Invariant: a request is sent again for the sake of a nonce once, and only with another nonce than before. Whatever
 * else the server says of a proof is its answer: no other token would help.
 */
import type { TokenResult } from '../../ipc/wire/token-messages.ts';
import { noncePattern } from '../../ipc/wire/values.ts';
import type { TokenConnection } from '../connection.ts';
import { initOf, type ReplayableRequest } from './replayable.ts';

/** Sends the requests of one MCP server, and remembers the nonce that it gave last. */
export class DpopRequests {
  readonly #connection: TokenConnection;
  readonly #fetch: typeof globalThis.fetch;
  #nonce: string | undefined;

  constructor(connection: TokenConnection, fetch: typeof globalThis.fetch) {
    this.#connection = connection;
    this.#fetch = fetch;
  }

  /** Throws as `Connection.proveToken`. */
  async send(request: ReplayableRequest, token: TokenResult): Promise<Response> {
    const nonce = this.#nonce;
    const first = await this.#sendOnce(request, token);
    // RFC 9449 §9: the server refused the proof for want of its nonce, and has not looked at the request.
    if (errorOf(first) !== 'use_dpop_nonce' || this.#nonce === nonce) return first;
    await first.body?.cancel();
    return this.#sendOnce(request, token);
  }

  async #sendOnce(request: ReplayableRequest, token: TokenResult): Promise<Response> {
    const { url, method, signal } = request;
    const nonce = this.#nonce;
    const proof = await this.#connection.proveToken(
      { tokenId: token.tokenId, method, url: url.origin + url.pathname, nonce },
      { signal },
    );
    const headers = new Headers(request.headers);
    headers.set('authorization', `DPoP ${token.access_token}`);
    headers.set('dpop', proof);
    const response = await this.#fetch(url.href, initOf({ ...request, headers }));
    // RFC 9449 §9: any answer may have a new one.
    const given = response.headers.get('dpop-nonce');
    if (given !== null && noncePattern.test(given)) this.#nonce = given;
    return response;
  }
}

/** RFC 9449 §7.1: the proof was refused, not the token. */
export function isAboutProof(response: Response): boolean {
  return errorOf(response) !== undefined;
}

const proofError = /\berror\s*=\s*"?(use_dpop_nonce|invalid_dpop_proof)\b/i;

function errorOf(response: Response): string | undefined {
  if (response.status !== 401) return undefined;
  return proofError.exec(response.headers.get('www-authenticate') ?? '')?.[1]?.toLowerCase();
}
