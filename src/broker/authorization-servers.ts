/**
 * Authorization servers we have met: their validated metadata, kept as long as their HTTP headers allow.
 *
 * Invariant: metadata is found where it was found before, by the same rules and with the same
 * overrides, and is used for its own issuer only.
 */
import { KeyturnError, quoted } from '../errors.ts';
import { discoverAuthorizationServer } from '../oauth/authorization-server.ts';
import type { AuthorizationServer } from '../oauth/authorization-server.ts';
import { discoverEarlierRevision } from '../oauth/earlier-revision.ts';
import type { Http } from '../oauth/http.ts';
import type { Grant, ServerPlace } from './grant.ts';
import type { OverrideBook } from './override.ts';

export interface ServerParts {
  /** The way to the network for what starts at an endpoint. */
  readonly network: (endpoint: string) => Http;
  readonly overrides: OverrideBook;
}

export class AuthorizationServers {
  readonly #parts: ServerParts;
  readonly #known = new Map<string, AuthorizationServer>();

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  /** For refresh and revocation: what we know while it is fresh, else what the server says now. */
  async of(grant: Grant): Promise<AuthorizationServer> {
    const endpoint = grant.endpoints[0] ?? grant.resource;
    const place = grant.server ?? { revision: 'current', identifier: grant.issuer };
    const known = this.#known.get(keyOf(endpoint, place));
    const isFresh = (known?.freshUntil ?? 0) > this.#parts.network(endpoint).now();
    const server = known && isFresh ? known : await this.discover(endpoint, place);
    if (server.issuer === grant.issuer) return server;
    throw new KeyturnError(
      'issuer_mismatch',
      `${quoted(place.identifier)} now calls itself ${quoted(server.issuer)}.`,
      {
        rule: 'Credentials belong to an issuer',
        hint: `The grant is for ${grant.issuer}. Sign in again: keyturn login ${endpoint}`,
      },
    );
  }

  /** For a sign-in: what the server says now. Throws `metadata_invalid` where it publishes nothing. */
  async discover(endpoint: string, place: ServerPlace): Promise<AuthorizationServer> {
    const http = this.#parts.network(endpoint);
    const overrides = this.#parts.overrides.for(endpoint, place.identifier);
    const server =
      place.revision === 'earlier'
        ? await discoverEarlierRevision(place.identifier, http, overrides)
        : await discoverAuthorizationServer(place.identifier, http, overrides);
    if (!server) throw noMetadata(place.identifier);
    this.#known.set(keyOf(endpoint, place), server);
    return server;
  }

  /** What the owner changed about a server counts from the next request on. */
  forget(): void {
    this.#known.clear();
  }
}

const keyOf = (endpoint: string, { revision, identifier }: ServerPlace): string =>
  `${revision} ${identifier} ${new URL(endpoint).origin}`;

function noMetadata(issuer: string): KeyturnError {
  return new KeyturnError(
    'metadata_invalid',
    `${quoted(issuer)} publishes no authorization server metadata.`,
    {
      rule: 'RFC 8414 §3, OpenID Connect Discovery 1.0 §4',
      hint: 'Ask whoever runs the server for the right issuer URL.',
    },
  );
}
