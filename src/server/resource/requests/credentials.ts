/**
 * The token of a request: where it stands, and in which scheme.
 *
 * Invariant: one token, in one Authorization header, and nowhere else (RFC 6750 §2; MCP, Token Requirements). Anything
 * that could be read in two ways is refused as malformed, before any token is looked at.
 */
import type { IncomingRequest } from '../base/incoming.ts';
import { Refusal } from '../base/refusal.ts';

export interface Credentials {
  readonly scheme: 'bearer' | 'dpop';
  readonly token: string;
}

/** RFC 9110 §11.6.2, RFC 6750 §2.1: one scheme, one b64token, and nothing after it. */
const oneToken = /^([A-Za-z]+) +([A-Za-z0-9._~+/-]+=*)$/;

/**
 * Another scheme, in a form that RFC 9110 §11.4 knows. Of the spaces the pattern counts one: a second way to share them
 * out would take time by the square of their number, and anybody may send them.
 */
const otherScheme = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: [^\0-\x1f\x7f]+)?$/;

/** Undefined: no token of a scheme of ours was sent. Throws a refusal for what is malformed. */
export function readCredentials({ url, headers }: IncomingRequest): Credentials | undefined {
  // MCP, Token Requirements: the access token MUST NOT be in the URI query string.
  if (hasToken(url.search.slice(1))) throw new Refusal('token_in_query');
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

/** 64 KiB: a form is for fields that a user fills in, and files have a type of their own. */
export const maxFormBytes = 64 * 1024;

/** `URLSearchParams` of Node takes time by the square of the number of fields. */
const maxFields = 1000;

/** The fields of a form. Throws a refusal for one with a token, and for one with more than a thousand fields. */
export function readForm(body: Uint8Array): URLSearchParams {
  const text = new TextDecoder().decode(body);
  if (hasToken(text)) throw new Refusal('token_in_body');
  if (text.split('&', maxFields + 1).length > maxFields) throw new Refusal('body_too_long');
  return new URLSearchParams(text);
}

/** Characters of the name `access_token` if each is escaped. */
const longestName = 'access_token'.length * 3;

/** Takes time by the length of the text only, since anybody may send it. */
function hasToken(fields: string): boolean {
  return fields.split('&').some((field) => {
    const [name = ''] = field.split('=', 1);
    if (name === 'access_token') return true;
    return name.includes('%') && name.length <= longestName && new URLSearchParams(name).has('access_token');
  });
}
