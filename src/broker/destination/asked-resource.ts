/**
 * Asks an MCP server which authorization servers and scopes it has now.
 *
 * Invariant: we ask the MCP server ourselves. An app's challenge is only a hint: it is valid if it is
 * same-origin or our own request confirms it (invariant 11, dev/internals.md).
 */
import type { BrokerParts } from '../parts.ts';
import { KeyturnError } from '../../base/errors.ts';
import type { AuthorizationServer } from '../../oauth/discovery/authorization-server.ts';
import type { BearerChallenge } from '../../oauth/discovery/challenge.ts';
import { discoverResource, type DiscoveredResource } from '../../oauth/discovery/discovery.ts';
import type { SignIn, MetadataSource } from '../records/sign-in.ts';

export interface ResourceRequest {
  readonly endpoint: string;
  /** The endpoint as it was typed: a slash at its end may matter to the server. Absent: as `endpoint`. */
  readonly typed?: string;
  /** False: the user started it. Absent: an app's request did. */
  readonly isAutomatic?: boolean;
  readonly challenge?: BearerChallenge;
  /** Scopes that a permission allows at most; absent: any. */
  readonly allowedScope?: readonly string[];
}

export interface AskedResource {
  readonly found: DiscoveredResource;
  readonly challengedScope?: readonly string[];
  /** Set if the server takes only tokens that are bound to a DPoP key, as its metadata or its own challenge says. */
  readonly wantsBoundTokens?: true;
}

export async function askResource(parts: BrokerParts, request: ResourceRequest): Promise<AskedResource> {
  // Metadata of the endpoint, not of its origin: an MCP server doesn't speak for others on the same host.
  const what = `resource ${request.endpoint}`;
  return parts.rests.ask({ what, isByUser: isByUser(request) }, () => askResourceNow(parts, request));
}

const isByUser = ({ isAutomatic = true }: ResourceRequest): boolean => !isAutomatic;

async function askResourceNow(parts: BrokerParts, request: ResourceRequest): Promise<AskedResource> {
  const http = parts.network(request.endpoint);
  const typed = request.typed ?? request.endpoint;
  const { found, own } = await discoverResource(typed, http, (challenge) =>
    countingChallenge(challenge, request),
  );
  // What an app says is valid only within its permission, whose scopes are in `allowedScope`.
  const challengedScope = request.challenge?.scope ?? own?.scope;
  const inMetadata = found.kind === 'protected' && found.resource.wantsBoundTokens;
  return { found, challengedScope, wantsBoundTokens: inMetadata || own?.wantsBoundTokens };
}

/** Our own challenge, unless only the app's one names a metadata document of the same origin. */
function countingChallenge(
  own: BearerChallenge | undefined,
  { challenge: hinted, endpoint }: ResourceRequest,
): BearerChallenge | undefined {
  if (own?.resourceMetadata !== undefined) return own;
  const url = hinted?.resourceMetadata;
  const isSameOrigin = url !== undefined && URL.parse(url)?.origin === new URL(endpoint).origin;
  return isSameOrigin ? hinted : own;
}

/** For a sign-in: what the server says now. */
export async function askServer(
  parts: BrokerParts,
  request: ResourceRequest,
  place: MetadataSource,
): Promise<AuthorizationServer> {
  const { servers, rests } = parts;
  const what = `metadata ${place.identifier}`;
  return rests.ask({ what, isByUser: isByUser(request) }, () => servers.discover(request.endpoint, place));
}

export function isNamed({ issuer, server }: SignIn, offered: readonly string[]): boolean {
  return [issuer, server?.identifier].some((one) => one !== undefined && offered.includes(one));
}

/**
 * The rule for keys (RFC 9449): tokens are bound to our key where the authorization server says that it binds them
 * (`dpop_signing_alg_values_supported`), and the MCP server takes no others. It says so in its metadata
 * (`dpop_bound_access_tokens_required`) or by a DPoP challenge without a Bearer one. Elsewhere tokens are Bearer
 * tokens, because apps that make no proofs can use those.
 */
export function bindsTokens(server: AuthorizationServer, { wantsBoundTokens }: AskedResource): boolean {
  return server.bindsTokens === true && wantsBoundTokens === true;
}

/**
 * After an MCP server rejected a fresh token: does it still name the issuer of that token, and does it still take
 * Bearer tokens? Its answer decides, even if the new issuer doesn't work: `issuers` are others, which it names now.
 * `unknown` if it can't be asked now; nothing changes then.
 */
export async function stillNames(
  parts: BrokerParts,
  request: ResourceRequest,
  signIn: SignIn,
): Promise<'yes' | 'bound' | 'unknown' | { readonly issuers: readonly string[] }> {
  try {
    const asked = await askResource(parts, request);
    const issuers = await namedIssuers(parts, request, asked, signIn);
    if (!isNamed(signIn, issuers)) return { issuers };
    if (signIn.isKeyBound || !asked.wantsBoundTokens) return 'yes';
    const place = signIn.server ?? { revision: 'current', identifier: signIn.issuer };
    return bindsTokens(await askServer(parts, request, place), asked) ? 'bound' : 'yes';
  } catch (error) {
    if (error instanceof KeyturnError) return 'unknown';
    throw error;
  }
}

/** The scopes of a step-up if the challenge names none (MCP, Scope Selection Strategy): all that the server lists. */
export async function listedScope(parts: BrokerParts, request: ResourceRequest): Promise<readonly string[]> {
  const { found } = await askResource(parts, request);
  if (found.kind === 'protected') return found.resource.scopesSupported ?? [];
  // The earlier revision has it in the authorization server's metadata.
  return (await askEarlier(parts, request, found)).scopesSupported ?? [];
}

/** The authorization server of an MCP server without protected resource metadata. */
async function askEarlier(
  parts: BrokerParts,
  request: ResourceRequest,
  { authorizationBaseUrl: identifier }: Extract<DiscoveredResource, { kind: 'earlierRevision' }>,
): Promise<AuthorizationServer> {
  return askServer(parts, request, { revision: 'earlier', identifier });
}

async function namedIssuers(
  parts: BrokerParts,
  request: ResourceRequest,
  { found }: AskedResource,
  { issuer: used }: SignIn,
): Promise<readonly string[]> {
  if (found.kind === 'protected') return found.resource.authorizationServers;
  const { isDefault, issuer } = await askEarlier(parts, request, found);
  // A server that publishes nothing at all doesn't name another one.
  return isDefault ? [issuer, used] : [issuer];
}
