/**
 * `token.prove`: a proof of a sign-in's key for one request of an app (RFC 9449 §7). The key stays here.
 *
 * Invariants: a proof is for a token that this app received, and for a URL within an endpoint where the app may
 * still use it. It names that one method and URL, and the server's time now, so that nobody can stock up on proofs for
 * later. There is no wait between the check of what allows the proof and the proof itself.
 */
import { KeyturnError, quoted } from '../base/errors.ts';
import { withoutOfflineAccess } from '../oauth/base/scope.ts';
import { resourceCovers } from '../oauth/base/resource.ts';
import { serverTime } from '../oauth/base/server-clock.ts';
import { consentDenied, consentRequired, permissionOnDisk } from './consent/current-permissions.ts';
import type { WantedAccess } from './consent/current-permissions.ts';
import type { BrokerParts } from './parts.ts';
import { endpointsWithin, isLiving } from './records/sign-in.ts';
import type { SignIn } from './records/sign-in.ts';
import { covers, isDenied } from './records/permission.ts';
import type { AccessToken } from './tokens/token-cache.ts';

export interface ProofRequest {
  /** The app, as its connection proved. */
  readonly appId: string;
  readonly tokenId: string;
  readonly method: string;
  /** An absolute URL. */
  readonly url: string;
  /** Of the MCP server (RFC 9449 §9). */
  readonly nonce?: string;
}

/** Proofs of one app in a window: far more than a busy agent sends requests. */
const maxProofs = 1000;

/** Milliseconds. */
const window = 5000;

export class Proofs {
  readonly #parts: BrokerParts;
  /** By app: how many proofs since when. The oldest come first, and go once their window is over. */
  readonly #counts = new Map<string, { readonly since: number; count: number }>();

  constructor(parts: BrokerParts) {
    this.#parts = parts;
  }

  /**
   * The value of the DPoP header. Throws `not_found` (not a token of this app any more), `invalid_request` (a Bearer
   * token), `resource_mismatch`, `consent_required`, `consent_denied`, `paused` and
   * `rate_limited`.
   */
  prove({ appId, tokenId, method, url: text, nonce }: ProofRequest): string {
    this.#limit(appId);
    const { cache, network, pause, signIns } = this.#parts;
    pause.throwIfPaused();
    const found = cache.byId(tokenId);
    const signIn = found && signIns.byId(found.signInId);
    if (!signIn || !found.token.handedTo.has(appId) || !isLiving(signIn)) throw noSuchToken();
    const { token } = found;
    const { dpopKey, accessToken } = token;
    if (!dpopKey) throw needsNoProof();
    const url = new URL(text);
    const endpoint = this.#endpointOf(appId, url, signIn, token);
    // The MCP server's own clock if it is known; else the authorization server's.
    const time = serverTime(network(endpoint), { issuer: signIn.issuer, tokenEndpoint: url.href });
    const proof = dpopKey.proof({ method, url, accessToken, nonce, time });
    this.#note(appId, endpoint, signIn, token);
    return proof;
  }

  /** The endpoint that `url` is within and where the app may use the token. */
  #endpointOf(appId: string, url: URL, signIn: SignIn, token: AccessToken): string {
    const around = [...endpointsWithin(signIn)].filter((endpoint) => isBelow(endpoint, url));
    const allowed = around.find((endpoint) => this.#isAllowed(appId, endpoint, signIn, token));
    if (allowed !== undefined) return allowed;
    const [endpoint] = around;
    if (endpoint === undefined) throw outside(url, signIn);
    throw consentRequired(this.#parts, wantedFor(appId, endpoint, signIn, token));
  }

  /**
   * The permission under which the app received the token, or one like it, still stands. One for one token stands
   * for that token until the user decides otherwise, as long as it lives. Throws `consent_denied`.
   */
  #isAllowed(appId: string, endpoint: string, signIn: SignIn, token: AccessToken): boolean {
    const { temporaryPermissions, clock } = this.#parts;
    const now = clock.wall();
    const wanted = wantedFor(appId, endpoint, signIn, token);
    const forNow = temporaryPermissions.of(appId, now).map(({ permission }) => permission);
    const onDisk = permissionOnDisk(this.#parts, wanted);
    const there = [...forNow, ...(onDisk ? [onDisk] : [])].filter((one) => one.endpoint === endpoint);
    if (there.some((permission) => isDenied(permission, wanted))) throw consentDenied(this.#parts, wanted);
    if (temporaryPermissions.gaveOnce(token.tokenId, wanted)) return true;
    return there.some((permission) => covers(permission, wanted));
  }

  #limit(appId: string): void {
    const now = this.#parts.clock.now();
    for (const [id, { since }] of this.#counts) {
      if (now - since < window) break;
      this.#counts.delete(id);
    }
    const current = this.#counts.get(appId) ?? { since: now, count: 0 };
    this.#counts.set(appId, current);
    current.count += 1;
    if (current.count <= maxProofs) return;
    throw new KeyturnError('rate_limited', 'This app asks for too many proofs.', {
      hint: 'Ask for one proof for each request, when the request is sent.',
      retryAfter: Math.ceil((current.since + window - now) / 1000),
    });
  }

  /** Proofs of one minute share a row. */
  #note(appId: string, endpoint: string, signIn: SignIn, token: AccessToken): void {
    const { audit, apps } = this.#parts;
    const fingerprint = audit.fingerprint(token.accessToken);
    const { id, resource, issuer } = signIn;
    const row = { app: apps.nameOf(appId), endpoint, signIn: id, resource, issuer, fingerprint };
    audit.note({ event: 'proof', outcome: 'ok', ...row });
  }
}

function wantedFor(appId: string, endpoint: string, { id }: SignIn, token: AccessToken): WantedAccess {
  const scope = withoutOfflineAccess(token.scope);
  return { appId, endpoint, signInId: id, scope, interaction: 'never' };
}

function isBelow(endpoint: string, url: URL): boolean {
  return url.username === '' && url.password === '' && resourceCovers(endpoint, url.href);
}

function noSuchToken(): KeyturnError {
  return new KeyturnError('not_found', 'This app has no such token any more.', {
    hint: 'Ask for a token again (token.get), and for proofs with its tokenId.',
  });
}

function needsNoProof(): KeyturnError {
  return new KeyturnError('invalid_request', 'This is a Bearer token: it needs no proof.', {
    rule: 'RFC 9449 §7.1',
    hint: 'Ask for proofs of tokens whose token_type is DPoP.',
  });
}

function outside({ origin, pathname }: URL, { resource }: SignIn): KeyturnError {
  return new KeyturnError(
    'resource_mismatch',
    `${quoted(origin + pathname)} is outside what this app may reach with the token for ${quoted(resource)}.`,
    {
      rule: 'A proof is for the origin and path that a user approved',
      hint: 'Send the token only to the endpoint that it was asked for.',
    },
  );
}
