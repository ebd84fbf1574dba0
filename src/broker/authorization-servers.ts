/**
 * Authorization servers we have met: their validated metadata, kept for a while.
 *
 * Invariant: metadata is found by its issuer and used for that issuer only.
 */
import { KeyturnError, quoted } from '../errors.ts';
import { discoverAuthorizationServer } from '../oauth/authorization-server.ts';
import type { AuthorizationServer } from '../oauth/authorization-server.ts';
import type { Http } from '../oauth/http.ts';

/** One hour (milliseconds): endpoints move rarely, and a sign-in always asks anew. */
const keptFor = 3_600_000;

export class AuthorizationServers {
  readonly #http: Http;
  readonly #known = new Map<string, { server: AuthorizationServer; readAt: number }>();

  constructor(http: Http) {
    this.#http = http;
  }

  /** For refresh and revocation: what we know, else what the issuer says now. */
  async get(issuer: string): Promise<AuthorizationServer> {
    const known = this.#known.get(issuer);
    if (known && known.readAt + keptFor > this.#http.now()) return known.server;
    return this.discover(issuer);
  }

  /** For a sign-in: what the issuer says now. */
  async discover(issuer: string): Promise<AuthorizationServer> {
    const server = await discoverAuthorizationServer(issuer, this.#http);
    if (!server) {
      throw new KeyturnError(
        'metadata_invalid',
        `${quoted(issuer)} publishes no authorization server metadata.`,
        {
          rule: 'RFC 8414 §3, OpenID Connect Discovery 1.0 §4',
          hint: 'Ask whoever runs the server for the right issuer URL.',
        },
      );
    }
    this.#known.set(issuer, { server, readAt: this.#http.now() });
    return server;
  }
}
