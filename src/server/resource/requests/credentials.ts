/**
 * The token of a request: where it stands, and in which scheme.
 *
 * Invariant: one token, in one Authorization header, and nowhere else (RFC 6750 §2; spec, Token use 2). Anything that
 * could be read in two ways is refused as malformed, before any token is looked at.
 */
import type { IncomingRequest } from '../base/incoming.ts';
import { Refusal } from '../base/refusal.ts';

export interface Credentials {
  readonly scheme: 'bearer' | 'dpop';
  readonly token: string;
}

/** RFC 9110 §11.6.2, RFC 6750 §2.1: one scheme, one b64token, and nothing after it. */
const oneToken = /^([A-Za-z]+) +([A-Za-z0-9._~+/-]+=*)$/;

/** Another scheme, in a form that RFC 9110 §11.4 knows. */
const otherScheme = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: +[^\0-\x1f\x7f]+)?$/;

/** Undefined: no token of a scheme of ours was sent. Throws a refusal for what is malformed. */
export function readCredentials({ url, headers }: IncomingRequest): Credentials | undefined {
  // Spec, Token use 2: the access token MUST NOT be in the URI query string.
  if (url.searchParams.has('access_token')) throw new Refusal('token_in_query');
  const header = headers.get('authorization');
  if (header === null) return undefined;
  const [, scheme, token] = oneToken.exec(header.trim()) ?? [];
  const name = (scheme ?? otherScheme.exec(header.trim())?.[1])?.toLowerCase();
  if (name === undefined) throw new Refusal('authorization_unreadable');
  // A client of another scheme has sent no token: it gets the challenge, which says what is wanted.
  if (name !== 'bearer' && name !== 'dpop') return undefined;
  if (token === undefined) throw new Refusal('authorization_unreadable');
  return { scheme: name, token };
}

/** RFC 6750 §2.2 lets a form carry a token. This server takes none there. */
export function isForm(headers: Headers): boolean {
  return /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(headers.get('content-type') ?? '');
}

/** The fields of a form. Throws a refusal for one with a token. */
export function readForm(body: Uint8Array): URLSearchParams {
  const form = new URLSearchParams(new TextDecoder().decode(body));
  if (form.has('access_token')) throw new Refusal('token_in_body');
  return form;
}
