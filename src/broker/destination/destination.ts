/**
 * Finds for an endpoint its resource and one authorization server.
 *
 * Invariant: we ask the MCP server ourselves. An app's challenge is only a hint: it is valid if it is
 * same-origin or our own request confirms it (invariant 11, dev/internals.md). If the authorization server has
 * changed, the sign-in says so, and uses nothing of the old one.
 */
import type { BrokerParts } from '../parts.ts';
import { KeyturnError, quoted, RuleRefusal, Unreachable, shellWord, detailsOf } from '../../base/errors.ts';
import { requirePkceForUser } from '../../oauth/discovery/authorization-server.ts';
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import { requireAuthorizationEndpoint } from '../../oauth/grants/authorization.ts';
import { requireDeviceEndpoint } from '../../oauth/grants/device.ts';
import type { Registration } from '../../oauth/client/registration.ts';
import type { MetadataSource } from '../records/sign-in.ts';
import { canonicalResource } from '../../oauth/base/resource.ts';
import { union } from '../../oauth/base/scope.ts';
import type { Exceptions } from '../../oauth/base/exceptions.ts';
import { providerAt, providerExceptions } from '../records/company.ts';
import type { ExceptionRecords } from '../records/exception.ts';
import { withHint } from '../tokens/server-rests.ts';
import type { SignInMethod } from '../approval-requests/starter.ts';
import type { AskedResource, ResourceRequest } from './asked-resource.ts';
import { askResource, askServer, bindsTokens, isNamed } from './asked-resource.ts';
import { refuseGuess, mayUseDefaults } from './default-endpoints.ts';
import { chooseIdentity } from './known-client.ts';

export interface DestinationRequest extends ResourceRequest {
  readonly account?: string;
  /** The user's choice. */
  readonly issuer?: string;
  readonly method: SignInMethod;
}

export interface Destination {
  /** Sent byte for byte. */
  readonly resource: string;
  readonly server: AuthorizationServer;
  readonly source: MetadataSource;
  /** The authorization server was chosen among several: see `requireSignIn`. */
  readonly isChecked?: true;
  /** Scopes of the challenge that is used. */
  readonly challengedScope?: readonly string[];
  /** `scopes_supported` of the MCP server. */
  readonly scopesSupported?: readonly string[];
  /** The issuer of a sign-in that the MCP server no longer names. */
  readonly formerIssuer?: string;
  /** Its tokens are bound to a DPoP key: see `bindsTokens`. */
  readonly isBound?: true;
  /** It is the company's identity provider, and no MCP server (records/company.ts). */
  readonly isCompany?: true;
}

/** The issuer's name, the MCP server's name for it, and the resource: the user may have set an exception for each. */
export function namesOf({ server, source, resource }: Destination): [string, string, string] {
  return [server.issuer, source.identifier, resource];
}

/** The rules that are waived there. */
export function exceptionsAt(
  { exceptions }: { readonly exceptions: ExceptionRecords },
  endpoint: string,
  destination: Destination,
): Exceptions {
  const waived = exceptions.for(endpoint, ...namesOf(destination));
  return destination.isCompany ? { ...waived, ...providerExceptions } : waived;
}

/** What our client is registered for: what is asked for now, and what a step-up may ask for later. */
export function registeredScope(
  { scopesSupported = [], server }: Destination,
  now: readonly string[] = [],
): { scope?: readonly string[]; now: readonly string[] } {
  const all = union(now, scopesSupported, server.scopesSupported ?? []);
  return { scope: all.length === 0 ? undefined : all, now };
}

export async function findDestination(parts: BrokerParts, request: DestinationRequest): Promise<Destination> {
  const http = parts.network(request.endpoint);
  const provider = providerAt(parts.registrations, request.endpoint, (one) => canonicalResource(one, http));
  if (provider !== undefined) return companyDestination(parts, request, provider);
  const asked = await askResource(parts, request);
  const destination = await destinationOf(parts, request, asked);
  const { server, source } = destination;
  // A server without metadata of its own names its origin, whatever the user typed.
  if (request.issuer !== undefined && ![server.issuer, source.identifier].includes(request.issuer))
    throw otherIssuer(request, [server.issuer]);
  return bindsTokens(server, asked) ? { ...destination, isBound: true } : destination;
}

/** The user entered the issuer, so nothing leads there. */
async function companyDestination(
  parts: BrokerParts,
  request: DestinationRequest,
  provider: string,
): Promise<Destination> {
  const source = { revision: 'current', identifier: provider } as const;
  return { resource: provider, server: await askServer(parts, request, source), source, isCompany: true };
}

async function destinationOf(
  parts: BrokerParts,
  request: DestinationRequest,
  { found, challengedScope }: AskedResource,
): Promise<Destination> {
  if (found.kind === 'earlierRevision') {
    const asked = { revision: 'earlier', identifier: found.authorizationBaseUrl } as const;
    const named = request.issuer ?? usedIssuer(parts, request);
    if (named !== undefined && (await isSilent(askServer(parts, request, asked), named)))
      return { resource: found.resource, ...(await chooseServer(parts, request, [named])), challengedScope };
    const server = await askServer(parts, request, asked);
    if (server.isDefault) refuseGuess(parts, server.issuer);
    const source = server.isDefault ? asked : { ...asked, isByMetadata: true };
    const formerIssuer = former(parts, request, [server.issuer]);
    return { resource: found.resource, server, source, challengedScope, formerIssuer };
  }
  const { resource, authorizationServers, scopesSupported } = found.resource;
  return {
    resource,
    ...(await chooseServer(parts, request, authorizationServers)),
    challengedScope,
    scopesSupported,
    formerIssuer: former(parts, request, authorizationServers),
  };
}

/** True if the MCP server's origin publishes no metadata, has a web page at every address, or can't be reached. */
async function isSilent(own: Promise<AuthorizationServer>, named: string): Promise<boolean> {
  return own.then(
    ({ isDefault, issuer }) => isDefault === true && issuer !== named,
    (error: unknown) => {
      if (error instanceof Unreachable) return true;
      throw error;
    },
  );
}

/** If the MCP server names nothing at all: what its sign-in uses, because the user or the server named it then. */
function usedIssuer({ signIns }: BrokerParts, { endpoint, account }: DestinationRequest): string | undefined {
  const places = signIns.forEndpoint(endpoint, account).map(({ server }) => server);
  return places.find((place) => place?.revision === 'current')?.identifier;
}

/** The most servers tried in one search: the MCP server's list is untrusted, and may name any server. */
const maxServersTried = 5;

type ChosenServer = Pick<Destination, 'server' | 'source' | 'isChecked'>;

/** RFC 9728 §7.6: the user's choice, else a server where we have a sign-in or client, else the first that qualifies. */
async function chooseServer(
  parts: BrokerParts,
  request: DestinationRequest,
  offered: readonly [string, ...string[]],
): Promise<ChosenServer> {
  let refusal: unknown;
  let withDefaults: ChosenServer | undefined;
  const checked = offered.length > 1 ? { isChecked: true as const } : {};
  const order = inOrder(parts, request, offered);
  for (const identifier of order.slice(0, maxServersTried)) {
    try {
      const revision = mayUseDefaults(parts, identifier) ? 'default' : 'current';
      const asked = { revision, identifier } as const;
      const server = await askServer(parts, request, asked);
      if (checked.isChecked) requireUsable(parts, request, server);
      if (!server.isDefault) return { server, source: { revision: 'current', identifier }, ...checked };
      // MCP 2025-03-26, Fallbacks for Servers without Metadata Discovery: metadata first. Another one may have some.
      withDefaults ??= { server, source: asked, ...checked };
    } catch (error) {
      // The first server's fault explains more than the fault of a fallback.
      refusal ??= error;
    }
  }
  if (withDefaults !== undefined) return withDefaults;
  throw order.length > maxServersTried ? othersUntried(refusal, request.endpoint, order.length) : refusal;
}

/** The same refusal, with the number of servers that were not tried. */
function othersUntried(refusal: unknown, endpoint: string, named: number): unknown {
  if (!(refusal instanceof KeyturnError)) return refusal;
  const others = `Keyturn tried ${maxServersTried} of the ${named} authorization servers that are named, and no more. To choose one: keyturn login ${shellWord(endpoint)} --issuer ISSUER`;
  const hint = refusal.hint === undefined ? others : `${refusal.hint} ${others}`;
  if (refusal instanceof Unreachable) return withHint(refusal, hint);
  const { reason, message, cause } = refusal;
  return new KeyturnError(reason, message, { ...detailsOf(refusal), hint, cause });
}

/** Keyturn has a client there or can get one, and can get tokens with or without a user. Throws if not. */
function requireUsable(parts: BrokerParts, request: DestinationRequest, server: AuthorizationServer): void {
  const { registrations, servers } = parts;
  if (registrations.for(server.issuer, servers.timeAt(server.issuer))?.grantType !== undefined) return;
  requireSignIn(parts, server, request);
}

/** Throws `registration_required`, `pkce_unsupported` or `metadata_invalid` where no sign-in page could succeed. */
export function requireSignIn(
  parts: BrokerParts,
  server: AuthorizationServer,
  { endpoint, method }: Pick<DestinationRequest, 'endpoint' | 'method'>,
): void {
  if (method === 'device') requireDeviceEndpoint(server, endpoint);
  else requireAuthorizationEndpoint(server);
  requirePkceForUser(server);
  chooseIdentity(parts, server);
}

function inOrder(
  { signIns, registrations, servers }: BrokerParts,
  { endpoint, account, issuer }: DestinationRequest,
  offered: readonly string[],
): readonly string[] {
  if (issuer !== undefined) {
    // The metadata of an issuer without a path may spell it with a final slash, or without.
    const same = [issuer, issuer.replace(/\/$/, ''), `${issuer}/`].find((one) => offered.includes(one));
    if (same !== undefined) return [same];
    throw otherIssuer({ endpoint, issuer }, offered);
  }
  const granted = signIns
    .forEndpoint(endpoint, account)
    .map((signIn) => signIn.server?.identifier ?? signIn.issuer);
  const registrationAt = (one: string): Registration | undefined =>
    registrations.for(one, servers.timeAt(one))?.registration;
  const settled = offered.find(
    (one) => granted.includes(one) || registrationAt(one)?.source === 'preregistered',
  );
  // A sign-in or an entered client decides the server: if it fails, the refusal says so, and no other server is tried.
  if (settled !== undefined) return [settled];
  // A registration of our own decides only the order: the sign-in that it was made for may have failed.
  const ours = offered.filter((one) => registrationAt(one) !== undefined);
  return [...ours, ...offered.filter((one) => !ours.includes(one))];
}

function otherIssuer(
  { endpoint, issuer = '' }: Pick<DestinationRequest, 'endpoint' | 'issuer'>,
  offered: readonly string[],
): RuleRefusal {
  return new RuleRefusal(
    'issuer_mismatch',
    `${endpoint} does not name ${quoted(issuer)} as its authorization server.`,
    { rule: 'RFC 9728 §3.3, §7.6', hint: `It names ${offered.map(quoted).join(', ')}.` },
  );
}

/** The MCP server used to name another authorization server: the sign-in says so. */
function former(
  { signIns }: BrokerParts,
  { endpoint, account }: DestinationRequest,
  offered: readonly string[],
): string | undefined {
  const before = signIns.forEndpoint(endpoint, account).find((signIn) => signIn.state.kind !== 'revoked');
  return before && !isNamed(before, offered) ? before.issuer : undefined;
}
