/**
 * Authorization servers we have met: their validated metadata, kept as long as their HTTP headers allow.
 *
 * Invariants: metadata is found where it was found before, by the same rules and with the same
 * overrides, and is used for its own issuer only. For a grant that stands, metadata that can't be
 * believed at this moment is a server that can't be reached: it ends nothing.
 */
import { KeyturnError, quoted, reasonOf, Unreachable } from '../errors.ts';
import { discoverAuthorizationServer } from '../oauth/authorization-server.ts';
import type { AuthorizationServer } from '../oauth/authorization-server.ts';
import { discoverEarlierRevision } from '../oauth/earlier-revision.ts';
import { signInPageHint } from '../oauth/http.ts';
import type { Http } from '../oauth/http.ts';
import { clockSkew, serverTime } from '../oauth/server-clock.ts';
import type { ServerPlaces } from '../oauth/server-clock.ts';
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
    const server =
      known && isFresh
        ? known
        : await this.discover(endpoint, place).catch((error: unknown) => {
            throw withoutHarm(place, error);
          });
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

  /** Milliseconds since the epoch by this issuer's own clock, as far as its answers told it. */
  timeAt(issuer: string): number {
    return serverTime(this.#parts.network(issuer), this.#placesOf(issuer));
  }

  /** Milliseconds that the issuer's clock is ahead of this machine's; 0 where nothing is known of it. */
  skewOf(issuer: string): number {
    return clockSkew(this.#parts.network(issuer), this.#placesOf(issuer));
  }

  #placesOf(issuer: string): ServerPlaces {
    return this.#known.values().find((server) => server.issuer === issuer) ?? { issuer };
  }

  /** What the owner changed about a server counts from the next request on. */
  forget(): void {
    this.#known.clear();
  }
}

const keyOf = (endpoint: string, { revision, identifier }: ServerPlace): string =>
  `${revision} ${identifier} ${new URL(endpoint).origin}`;

/** A web page, or nothing, where the metadata was found before: the server or the network is in trouble. */
function withoutHarm({ identifier }: ServerPlace, error: unknown): unknown {
  if (reasonOf(error) !== 'metadata_invalid') return error;
  return new Unreachable(
    'authorization_server_unreachable',
    `The metadata of ${quoted(identifier)} can't be read now, though it could before.`,
    { hint: signInPageHint },
  );
}

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
