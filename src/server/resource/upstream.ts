/**
 * Requests to an upstream server, with a token that was issued for that server.
 *
 * Invariant: the token that a client sent here never goes further (MCP, Access Token Privilege Restriction). A token
 * is sent only to the upstream resource, and a redirect is not followed.
 */
import { KeyturnError } from '../../base/errors.ts';
import { resourceCovers } from '../../oauth/base/resource.ts';
import { digestOf, type Access } from './access.ts';
import { sha256 } from './base/digest.ts';
import { statedClaims } from './tokens/claims.ts';

export interface Upstream {
  /** The URI of the upstream server that the token was issued for. */
  readonly resource: string;
  /** The token that the upstream's authorization server issued to this server. */
  readonly token: string;
  /** The platform's own unless given. */
  readonly fetch?: typeof globalThis.fetch;
}

/**
 * A fetch for one upstream server. Throws not_permitted for the token that came with the request, and for one that
 * names this server, or another than the upstream, as its audience. The fetch throws not_permitted for a URL beyond
 * the upstream resource.
 */
export async function upstreamFetch(access: Access, upstream: Upstream): Promise<typeof globalThis.fetch> {
  const digest = digestOf(access);
  if (digest === undefined) throw refusal('The access was not made by a protected server.');
  if (sha256(upstream.token) === digest) {
    throw refusal('The token is the one that the client sent to this server.');
  }
  return fetchTo(upstream);
}

/** The same where no request came with a token, such as at a sign-in. */
export function fetchTo({ resource, token, fetch }: Upstream): typeof globalThis.fetch {
  const aud = statedClaims(token)?.aud;
  if (aud !== undefined && ![aud].flat().some((audience) => names(audience, resource))) {
    throw refusal('The token names another audience than the upstream server.');
  }
  const send = fetch ?? ((input, init) => globalThis.fetch(input, init));
  return async (input, init) => {
    const request = new Request(input, init);
    if (!resourceCovers(resource, request.url)) {
      throw refusal('The URL is not one of the upstream server.');
    }
    const headers = new Headers(request.headers);
    headers.set('authorization', `Bearer ${token}`);
    // A redirect would take the token to a server that it wasn't issued for.
    return send(new Request(request, { headers, redirect: 'manual' }));
  };
}

function names(audience: string, resource: string): boolean {
  return (
    audience === resource || (URL.canParse(audience) && new URL(audience).href === new URL(resource).href)
  );
}

function refusal(message: string): KeyturnError {
  return new KeyturnError('not_permitted', message, {
    rule: 'The server MUST NOT pass on the token it received from the client',
    hint: 'Ask the upstream’s authorization server for a token of your own.',
  });
}
