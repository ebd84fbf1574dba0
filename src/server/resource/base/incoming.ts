/**
 * A request as the checks see it, whichever kind of server received it, and an answer as they write it.
 *
 * Invariant: the headers hold every line that was sent, joined by commas as Fetch does it, so that a second
 * Authorization header can't hide behind the first. The body is read once, within a bound.
 */

/** What the server knows of the connection. */
export interface Connection {
  /** IP address of the other end; absent: not known, and no limit by address applies. */
  readonly address?: string;
  readonly isEncrypted: boolean;
}

export interface IncomingRequest {
  readonly method: string;
  /** Path and query count; scheme and host are whatever the server made of them, and are not trusted. */
  readonly url: URL;
  /** The request's target as it was sent, where a handler may read it. It has to name the same path as `url`. */
  readonly target?: string;
  readonly headers: Headers;
  readonly connection: Connection;
  /** The whole body; undefined if it has more than `maxBytes`. Called once at most. */
  readBody(maxBytes: number): Promise<Uint8Array | undefined>;
}

/** RFC 9112 §6.3: whether the headers announce one. */
export function hasBody(headers: Headers): boolean {
  return headers.has('transfer-encoding') || !/^0*$/.test(headers.get('content-length') ?? '');
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}
