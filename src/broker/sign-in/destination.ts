/**
 * Where a sign-in leads: from an endpoint to its resource and one authorization server.
 *
 * Invariant: we ask the protected server ourselves; a local client's challenge is a hint that counts
 * only where it is same-origin or our own request confirms it (DESIGN 11). An authorization server
 * that changed is noticed and named, and nothing of the old one is reused.
 */
import { KeyturnError, quoted, RuleRefusal, Unreachable, shellWord } from '../../base/errors.ts';
import { requirePkceForPerson } from '../../oauth/discovery/authorization-server.ts';
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import { requireAuthorizationEndpoint } from '../../oauth/grants/authorization.ts';
import type { BearerChallenge } from '../../oauth/discovery/challenge.ts';
import { requireDeviceEndpoint } from '../../oauth/grants/device.ts';
import { discoverResource } from '../../oauth/discovery/discovery.ts';
import type { DiscoveredResource } from '../../oauth/discovery/discovery.ts';
import type { Http } from '../../oauth/base/http.ts';
import { probeEitherSpelling } from '../../oauth/discovery/probe.ts';
import type { Registration } from '../../oauth/client/registration.ts';
import { metadataGone } from '../tokens/authorization-servers.ts';
import type { AuthorizationServers } from '../tokens/authorization-servers.ts';
import type { Clock } from '../../base/clock.ts';
import { isLiving } from '../records/grant.ts';
import type { Grant, Grants, MetadataSource } from '../records/grant.ts';
import { union } from '../../oauth/base/scope.ts';
import { canRegister } from './redirect.ts';
import type { Registrations } from '../records/registrations.ts';
import { withHint } from '../refusals/server-rests.ts';
import type { ServerRests } from '../refusals/server-rests.ts';
import type { SignInMethod } from '../questions/starter.ts';

export interface DestinationParts {
  readonly network: (endpoint: string) => Http;
  readonly clock: Clock;
  readonly grants: Grants;
  readonly registrations: Registrations;
  readonly servers: AuthorizationServers;
  readonly rests: ServerRests;
  /** URL of our client ID metadata document, where the user hosts one. */
  readonly clientMetadataUrl: string | undefined;
}

export interface ResourceRequest {
  readonly endpoint: string;
  /** The endpoint as somebody typed it: a slash at its end may matter to the server. Absent: as `endpoint`. */
  readonly typed?: string;
  /** False: the person started it. Absent: a program's request did. */
  readonly isAutomatic?: boolean;
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
  readonly place: MetadataSource;
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
    const asked = { revision: 'earlier', identifier: found.authorizationBaseUrl } as const;
    const server = await askServer(parts, request, asked);
    if (server.isDefault) refuseGuess(parts, server.issuer);
    const place = server.isDefault ? asked : { ...asked, isByMetadata: true };
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
  // Of the endpoint, not of its origin: one protected server speaks for no other that shares its host.
  const what = `resource ${request.endpoint}`;
  return parts.rests.ask({ what, isByPerson: isByPerson(request) }, () => askResourceNow(parts, request));
}

const isByPerson = ({ isAutomatic = true }: ResourceRequest): boolean => !isAutomatic;

async function askResourceNow(parts: DestinationParts, request: ResourceRequest): Promise<AskedResource> {
  const http = parts.network(request.endpoint);
  const { at, ...own } = await probeEitherSpelling(request.typed ?? request.endpoint, http);
  const challenge = countingChallenge(own.challenge, request);
  const probed = challenge === undefined ? { status: own.status } : { status: own.status, challenge };
  const found = await discoverResource(at, probed, http);
  // DESIGN invariant 11: what a local client says counts only within its permission, which `bound` is where it names scopes.
  const challengedScope = request.challenge?.scope ?? own.challenge?.scope;
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

/**
 * At most so many of the authorization servers that a protected server names are tried in one search: its list is a
 * stranger's, and may name somebody who has nothing to do with it.
 */
const maxServersTried = 5;

/** RFC 9728 §7.6, the client chooses: the user's choice, else one we hold something of, else the first that qualifies. */
async function chooseServer(
  parts: DestinationParts,
  request: DestinationRequest,
  offered: readonly [string, ...string[]],
): Promise<Pick<Destination, 'server' | 'place'>> {
  let refusal: unknown;
  let withDefaults: Pick<Destination, 'server' | 'place'> | undefined;
  const order = inOrder(parts, request, offered);
  for (const identifier of order.slice(0, maxServersTried)) {
    try {
      const asked = {
        revision: mayUseDefaults(parts, identifier) ? 'default' : 'current',
        identifier,
      } as const;
      const server = await askServer(parts, request, asked);
      if (offered.length > 1) requireUsable(parts, request, server);
      if (!server.isDefault) return { server, place: { revision: 'current', identifier } };
      // Spec, Discovery rules 5: metadata first. Another one may have some.
      withDefaults ??= { server, place: asked };
    } catch (error) {
      // What the first one did wrong says more than what a fallback did.
      refusal ??= error;
    }
  }
  if (withDefaults !== undefined) return withDefaults;
  throw order.length > maxServersTried ? othersUntried(refusal, request.endpoint, order.length) : refusal;
}

/** The same refusal, with how many were left alone. */
function othersUntried(refusal: unknown, endpoint: string, named: number): unknown {
  if (!(refusal instanceof KeyturnError)) return refusal;
  const others = `Keyturn tried ${maxServersTried} of the ${named} authorization servers that are named, and no more. To choose one: keyturn login ${shellWord(endpoint)} --issuer ISSUER`;
  const hint = refusal.hint === undefined ? others : `${refusal.hint} ${others}`;
  if (refusal instanceof Unreachable) return withHint(refusal, hint);
  const { reason, message, rule, cause } = refusal;
  return new KeyturnError(reason, message, { hint, cause, ...(rule === undefined ? {} : { rule }) });
}

/**
 * Default endpoints are guessed. Metadata that is gone for a moment must send neither a client that was entered for
 * the issuer nor a person to them.
 */
function mayUseDefaults(parts: DestinationParts, issuer: string): boolean {
  const hasEntered = parts.registrations
    .all()
    .some(({ registration }) => registration.issuer === issuer && registration.source === 'preregistered');
  return !hasEntered && !wasByMetadata(parts, issuer);
}

/** True where a grant of this issuer was signed in by its metadata, at any endpoint. */
function wasByMetadata({ grants }: DestinationParts, issuer: string): boolean {
  return grants
    .all()
    .filter(isLiving)
    .some(
      ({ issuer: own, server }) =>
        [own, server?.identifier].includes(issuer) &&
        // Older records name no place: those were signed in by metadata.
        (server === undefined || server.revision === 'current' || server.isByMetadata === true),
    );
}

/**
 * In the earlier revision: metadata that was used before may be gone for a moment, and the secret of an entered client
 * goes to no endpoint that is guessed. Where a grant shows that the client is used there already, it goes on.
 */
function refuseGuess(parts: DestinationParts, issuer: string): void {
  if (wasByMetadata(parts, issuer)) throw metadataGone(issuer);
  const { grants, registrations } = parts;
  const isUsed = (id: string): boolean =>
    grants.all().some((grant) => isLiving(grant) && grant.registrationId === id);
  const entered = registrations.all().find(({ id, registration, hasSecret }) => {
    const { source, tokenEndpointAuthMethod: method } = registration;
    // A private key never leaves: its assertion is for this issuer.
    const wouldSend = source === 'preregistered' && hasSecret && method !== 'private_key_jwt';
    return registration.issuer === issuer && wouldSend && !isUsed(id);
  });
  if (entered) throw secretWithoutPlace(entered.registration);
}

function secretWithoutPlace({ issuer, clientId }: Registration): RuleRefusal {
  return new RuleRefusal(
    'metadata_invalid',
    `${quoted(issuer)} publishes no authorization server metadata, so that nothing says where the secret of the client ${quoted(clientId)} may go.`,
    {
      rule: 'A client secret goes to the token endpoint of its issuer only; default endpoints are guessed',
      hint: `Try again later: the metadata may be gone for a moment. If this issuer publishes none and takes the client without a secret: keyturn register ${shellWord(issuer)} --client-id ${shellWord(clientId)}`,
    },
  );
}

/** For a sign-in: what the server says now. */
async function askServer(
  { servers, rests }: DestinationParts,
  request: ResourceRequest,
  place: MetadataSource,
): Promise<AuthorizationServer> {
  const what = `metadata ${place.identifier}`;
  return rests.ask({ what, isByPerson: isByPerson(request) }, () =>
    servers.discover(request.endpoint, place),
  );
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

/** Refuses what no page could mend. Throws `registration_required`, `pkce_unsupported` or `metadata_invalid`. */
export function requireSignIn(
  parts: DestinationParts,
  server: AuthorizationServer,
  method: SignInMethod,
): void {
  if (method === 'device') requireDeviceEndpoint(server);
  else requireAuthorizationEndpoint(server);
  requirePkceForPerson(server);
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

/**
 * What a step-up asks for where the challenge names nothing (spec, Scope selection): all that the server lists.
 * Empty where it lists nothing.
 */
export async function listedScope(
  parts: DestinationParts,
  request: ResourceRequest,
): Promise<readonly string[]> {
  const { found } = await askResource(parts, request);
  if (found.kind === 'protected') return found.resource.scopesSupported ?? [];
  // Versioning 3: the earlier revision has it in the authorization server's metadata.
  const place = { revision: 'earlier', identifier: found.authorizationBaseUrl } as const;
  return (await askServer(parts, request, place)).scopesSupported ?? [];
}

async function namedIssuers(parts: DestinationParts, request: ResourceRequest): Promise<readonly string[]> {
  const { found } = await askResource(parts, request);
  if (found.kind === 'protected') return found.resource.authorizationServers;
  const place = { revision: 'earlier', identifier: found.authorizationBaseUrl } as const;
  return [(await askServer(parts, request, place)).issuer];
}
