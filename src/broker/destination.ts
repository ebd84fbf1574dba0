/**
 * Where a sign-in leads: from an endpoint to its resource and one authorization server.
 *
 * Invariant: we ask the protected server ourselves; a local client's challenge is a hint that counts
 * only where it is same-origin or our own request confirms it (DESIGN 11). An authorization server
 * that changed is noticed and named, and nothing of the old one is reused.
 */
import { KeyturnError, quoted, RuleRefusal } from '../errors.ts';
import type { AuthorizationServer } from '../oauth/authorization-server.ts';
import { requireAuthorizationEndpoint } from '../oauth/authorization.ts';
import type { BearerChallenge } from '../oauth/challenge.ts';
import { requireDeviceEndpoint } from '../oauth/device.ts';
import { discoverResource } from '../oauth/discovery.ts';
import type { DiscoveredResource } from '../oauth/discovery.ts';
import type { Http } from '../oauth/http.ts';
import { probe } from '../oauth/probe.ts';
import type { Registration } from '../oauth/registration.ts';
import type { AuthorizationServers } from './authorization-servers.ts';
import type { Clock } from './clock.ts';
import type { Grant, Grants, ServerPlace } from './grant.ts';
import { union } from '../oauth/scope.ts';
import { canRegister } from './redirect.ts';
import type { Registrations } from './registrations.ts';
import type { SignInMethod } from './starter.ts';

export interface DestinationParts {
  readonly network: (endpoint: string) => Http;
  readonly clock: Clock;
  readonly grants: Grants;
  readonly registrations: Registrations;
  readonly servers: AuthorizationServers;
  /** URL of our client ID metadata document, where the user hosts one. */
  readonly clientMetadataUrl: string | undefined;
}

export interface ResourceRequest {
  readonly endpoint: string;
  readonly challenge?: BearerChallenge;
  /** Scopes a permission allows at most; absent: the user asks in person. */
  readonly bound?: readonly string[];
}

export interface DestinationRequest extends ResourceRequest {
  readonly account?: string;
  /** The user's choice. */
  readonly issuer?: string;
  /** How the person would sign in. */
  readonly method: SignInMethod;
}

export interface Destination {
  /** Sent byte for byte. */
  readonly resource: string;
  readonly server: AuthorizationServer;
  readonly place: ServerPlace;
  /** Scopes of the challenge that counts. */
  readonly challengedScope?: readonly string[];
  /** `scopes_supported` of the protected server. */
  readonly scopesSupported?: readonly string[];
  /** The issuer of a grant that the protected server no longer names. */
  readonly formerIssuer?: string;
}

/** What its issuer calls itself, what the protected server calls it, and the resource: an owner may have set an override for each. */
export function namesOf({ server, place, resource }: Destination): [string, string, string] {
  return [server.issuer, place.identifier, resource];
}

/** What a client of ours is registered for: what is asked for now, and what a step-up may ask for later. */
export function registeredScope({
  destination: { scopesSupported = [], server },
  scope = [],
}: {
  readonly destination: Destination;
  readonly scope: readonly string[] | undefined;
}): { scope?: readonly string[]; now: readonly string[] } {
  const all = union(scope, scopesSupported, server.scopesSupported ?? []);
  return all.length === 0 ? { now: scope } : { scope: all, now: scope };
}

export async function findDestination(
  parts: DestinationParts,
  request: DestinationRequest,
): Promise<Destination> {
  const { found, challengedScope } = await askResource(parts, request);
  const scopes = challengedScope === undefined ? {} : { challengedScope };
  if (found.kind === 'earlierRevision') {
    const place = { revision: 'earlier', identifier: found.authorizationBaseUrl } as const;
    const server = await parts.servers.discover(request.endpoint, place);
    return { resource: found.resource, server, place, ...scopes, ...former(parts, request, [server.issuer]) };
  }
  const { resource, authorizationServers, scopesSupported } = found.resource;
  return {
    resource,
    ...(await chooseServer(parts, request, authorizationServers)),
    ...scopes,
    ...(scopesSupported === undefined ? {} : { scopesSupported }),
    ...former(parts, request, authorizationServers),
  };
}

interface AskedResource {
  readonly found: DiscoveredResource;
  readonly challengedScope?: readonly string[];
}

async function askResource(parts: DestinationParts, request: ResourceRequest): Promise<AskedResource> {
  const http = parts.network(request.endpoint);
  const own = await probe(request.endpoint, http);
  const challenge = countingChallenge(own.challenge, request);
  const probed = challenge === undefined ? { status: own.status } : { status: own.status, challenge };
  const found = await discoverResource(request.endpoint, probed, http);
  // DESIGN invariant 11: what a local client says counts only within its permission, which `bound` is.
  const challengedScope = (request.bound && request.challenge?.scope) ?? own.challenge?.scope;
  return { found, ...(challengedScope === undefined ? {} : { challengedScope }) };
}

/** Our own, unless only the client's names a metadata document, and that of the same origin. */
function countingChallenge(
  own: BearerChallenge | undefined,
  { challenge: hinted, endpoint }: ResourceRequest,
): BearerChallenge | undefined {
  if (own?.resourceMetadata !== undefined) return own;
  const url = hinted?.resourceMetadata;
  const isSameOrigin = url !== undefined && URL.parse(url)?.origin === new URL(endpoint).origin;
  return isSameOrigin ? hinted : own;
}

/** RFC 9728 §7.6, the client chooses: the user's choice, else one we hold something of, else the first that qualifies. */
async function chooseServer(
  parts: DestinationParts,
  request: DestinationRequest,
  offered: readonly [string, ...string[]],
): Promise<Pick<Destination, 'server' | 'place'>> {
  let refusal: unknown;
  for (const identifier of inOrder(parts, request, offered)) {
    const place = { revision: 'current', identifier } as const;
    try {
      const server = await parts.servers.discover(request.endpoint, place);
      if (offered.length > 1) requireUsable(parts, request, server);
      return { server, place };
    } catch (error) {
      // What the first one did wrong says more than what a fallback did.
      refusal ??= error;
    }
  }
  throw refusal;
}

/** We are known there, or can be, and get tokens there with or without a person. Throws where not. */
function requireUsable(
  parts: DestinationParts,
  { method }: DestinationRequest,
  server: AuthorizationServer,
): void {
  const { registrations, servers } = parts;
  if (registrations.for(server.issuer, servers.timeAt(server.issuer))?.grant !== undefined) return;
  requireSignIn(parts, server, method);
}

/** Refuses what no page could mend. Throws `registration_required` or `metadata_invalid`. */
export function requireSignIn(
  parts: DestinationParts,
  server: AuthorizationServer,
  method: SignInMethod,
): void {
  if (method === 'device') requireDeviceEndpoint(server);
  else requireAuthorizationEndpoint(server);
  canRegister(parts, server);
}

function inOrder(
  { grants, registrations, servers }: DestinationParts,
  { endpoint, account, issuer }: DestinationRequest,
  offered: readonly string[],
): readonly string[] {
  if (issuer !== undefined) {
    if (offered.includes(issuer)) return [issuer];
    throw new RuleRefusal(
      'issuer_mismatch',
      `${endpoint} does not name ${quoted(issuer)} as its authorization server.`,
      { rule: 'RFC 9728 §3.3, §7.6', hint: `It names ${offered.map(quoted).join(', ')}.` },
    );
  }
  const granted = grants
    .forEndpoint(endpoint, account)
    .map((grant) => grant.server?.identifier ?? grant.issuer);
  const registrationAt = (one: string): Registration | undefined =>
    registrations.for(one, servers.timeAt(one))?.registration;
  const settled = offered.find(
    (one) => granted.includes(one) || registrationAt(one)?.source === 'preregistered',
  );
  // A grant or an entered client settles it: a mishap there is told, not hidden by going elsewhere.
  if (settled !== undefined) return [settled];
  // A registration of our own only comes first: the sign-in that it was made for may have come to nothing.
  const ours = offered.filter((one) => registrationAt(one) !== undefined);
  return [...ours, ...offered.filter((one) => !ours.includes(one))];
}

/** The protected server used to name another authorization server: the sign-in says so. */
function former(
  { grants }: DestinationParts,
  { endpoint, account }: DestinationRequest,
  offered: readonly string[],
): { formerIssuer?: string } {
  const before = grants.forEndpoint(endpoint, account).find((grant) => grant.state.kind !== 'revoked');
  if (!before) return {};
  return isNamed(before, offered) ? {} : { formerIssuer: before.issuer };
}

function isNamed({ issuer, server }: Grant, offered: readonly string[]): boolean {
  return [issuer, server?.identifier].some((one) => one !== undefined && offered.includes(one));
}

/**
 * After a protected server refused a fresh token: does it still name the issuer that gave it? What it
 * says decides, whatever state the new issuer is in. `unknown` where it can't be asked now, which
 * changes nothing.
 */
export async function stillNames(
  parts: DestinationParts,
  request: ResourceRequest,
  grant: Grant,
): Promise<'yes' | 'no' | 'unknown'> {
  try {
    return isNamed(grant, await namedIssuers(parts, request)) ? 'yes' : 'no';
  } catch (error) {
    if (error instanceof KeyturnError) return 'unknown';
    throw error;
  }
}

async function namedIssuers(parts: DestinationParts, request: ResourceRequest): Promise<readonly string[]> {
  const { found } = await askResource(parts, request);
  if (found.kind === 'protected') return found.resource.authorizationServers;
  const place = { revision: 'earlier', identifier: found.authorizationBaseUrl } as const;
  return [(await parts.servers.discover(request.endpoint, place)).issuer];
}
