/**
 * Authorization servers that a sign-in has found: their validated metadata, cached as long as their HTTP headers allow.
 *
 * Invariants: metadata is looked up where it was found before, by the same rules and with the same exceptions, and is
 * used for its own issuer only. If metadata can't be trusted at the moment, an existing sign-in treats its server as
 * unreachable: the sign-in does not end.
 */
import { firstEndpoint, type SignIn, type MetadataSource } from '../records/sign-in.ts';
import { KeyturnError, quoted, reasonOf, RuleRefusal, shellWord, Unreachable } from '../../base/errors.ts';
import {
  discoverAuthorizationServer,
  type AuthorizationServer,
} from '../../oauth/discovery/authorization-server.ts';
import {
  authorizationBaseUrl,
  defaultServer,
  discoverEarlierRevision,
} from '../../oauth/discovery/earlier-revision.ts';
import { signInPageHint, type Http } from '../../oauth/base/http.ts';
import { clockSkew, serverTime, type ServerUrls } from '../../oauth/base/server-clock.ts';
import type { ExceptionRecords } from '../records/exception.ts';

export interface ServerParts {
  /** The way to the network for what starts at an endpoint. */
  readonly network: (endpoint: string) => Http;
  readonly exceptions: ExceptionRecords;
}

export class AuthorizationServers {
  readonly #parts: ServerParts;
  readonly #known = new Map<string, AuthorizationServer>();

  constructor(parts: ServerParts) {
    this.#parts = parts;
  }

  /** For refresh and revocation: the cached metadata while it is fresh, else the server's present metadata. */
  async of(signIn: SignIn): Promise<AuthorizationServer> {
    const endpoint = firstEndpoint(signIn);
    const source = signIn.server ?? { revision: 'current', identifier: signIn.issuer };
    const known = this.#known.get(keyOf(endpoint, source));
    // Default endpoints are for sign-ins that came by them.
    const isUsable = known?.isDefault !== true || (source.revision !== 'current' && !source.isByMetadata);
    const isFresh = isUsable && (known?.freshUntil ?? 0) > this.#parts.network(endpoint).now();
    const server =
      known && isFresh
        ? known
        : await this.discover(endpoint, source).catch((error: unknown) => {
            throw withoutHarm(source, error);
          });
    if (server.issuer === signIn.issuer) return server;
    throw new KeyturnError(
      'issuer_mismatch',
      `${quoted(source.identifier)} now calls itself ${quoted(server.issuer)}.`,
      {
        rule: 'Credentials belong to an issuer',
        hint: `The sign-in is for ${signIn.issuer}. Sign in again: keyturn login ${shellWord(endpoint)}`,
      },
    );
  }

  /** For a source `default`: the default endpoints if it publishes none. Throws `metadata_invalid`. */
  async discover(endpoint: string, source: MetadataSource): Promise<AuthorizationServer> {
    const http = this.#parts.network(endpoint);
    const exceptions = this.#parts.exceptions.for(endpoint, source.identifier);
    const server =
      source.revision === 'earlier'
        ? await discoverEarlierRevision(source.identifier, http, exceptions)
        : ((await discoverAuthorizationServer(source.identifier, http, exceptions)) ??
          withoutMetadata(endpoint, source, http.now()));
    if (server.isDefault && source.isByMetadata) throw metadataGone(source.identifier);
    this.#known.set(keyOf(endpoint, source), server);
    return server;
  }

  /** Milliseconds since 1970 by this issuer's own clock, as far as its responses showed it. */
  timeAt(issuer: string): number {
    return serverTime(this.#parts.network(issuer), this.#placesOf(issuer));
  }

  /** Milliseconds that the issuer's clock is ahead of this machine's; 0 if unknown. */
  skewOf(issuer: string): number {
    return clockSkew(this.#parts.network(issuer), this.#placesOf(issuer));
  }

  #placesOf(issuer: string): ServerUrls {
    return this.#known.values().find((server) => server.issuer === issuer) ?? { issuer };
  }

  /** The user changed something about a server: the next request uses it. */
  forget(): void {
    this.#known.clear();
  }
}

const keyOf = (endpoint: string, { revision, identifier }: MetadataSource): string =>
  `${revision === 'earlier' ? 'earlier' : 'current'} ${identifier} ${new URL(endpoint).origin}`;

/** A web page, or nothing, where the metadata was found before: the server or the network is in trouble. */
function withoutHarm({ identifier }: MetadataSource, error: unknown): unknown {
  if (reasonOf(error) !== 'metadata_invalid') return error;
  return new Unreachable(
    'authorization_server_unreachable',
    `The metadata of ${quoted(identifier)} can't be read now, though it could before.`,
    { hint: signInPageHint },
  );
}

/**
 * MCP 2025-03-26, Fallbacks for Servers without Metadata Discovery: they are relative to the MCP server's own origin.
 * So they serve an issuer of that origin; for one elsewhere they would be guessed. For a sign-in that came by metadata
 * they don't serve either: metadata that is gone for a moment must not send its refresh token to another place.
 */
function withoutMetadata(
  endpoint: string,
  { revision, identifier }: MetadataSource,
  now: number,
): AuthorizationServer {
  const base = authorizationBaseUrl(endpoint);
  if (new URL(identifier).origin !== base) throw noMetadata(identifier);
  if (revision !== 'default') throw metadataGone(identifier);
  return defaultServer({ issuer: identifier, base }, now);
}

function noMetadata(issuer: string): RuleRefusal {
  return new RuleRefusal(
    'metadata_invalid',
    `${quoted(issuer)} publishes no authorization server metadata.`,
    {
      rule: 'RFC 8414 §3, OpenID Connect Discovery 1.0 §4. Default endpoints serve on the MCP server’s own origin only',
      hint: 'The operator of the MCP server has to name an authorization server with metadata.',
    },
  );
}

/** No default endpoints instead of metadata that was used before, nor for a client that the user entered. */
export function metadataGone(issuer: string): RuleRefusal {
  return new RuleRefusal(
    'metadata_invalid',
    `${quoted(issuer)} publishes no authorization server metadata now.`,
    {
      rule: 'RFC 8414 §3. No default endpoints where a sign-in used metadata, or a client was entered by hand',
      hint: 'Try again later: it may be gone for a moment. If it is gone permanently, revoke the sign-ins at this authorization server (keyturn logout), remove a client that was entered for it (keyturn oauth-client remove ISSUER), and sign in again.',
    },
  );
}
