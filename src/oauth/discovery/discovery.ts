/**
 * The first step with an MCP server: finds out whether it wants authorization, and by which revision.
 *
 * Invariant: a server is treated as one of the earlier revision only if it asks for authorization and if every
 * location of protected resource metadata is absent or a web page. A malformed or unreachable document is an error.
 */
import { KeyturnError, quotedUrl, reasonOf, RuleRefusal } from '../../base/errors.ts';
import { authorizationBaseUrl } from './earlier-revision.ts';
import type { BearerChallenge } from './challenge.ts';
import { isSuccess, type Http } from '../base/http.ts';
import { demandsAuthorization, namesMetadata, probe, probeByPost } from './probe.ts';
import { discoverProtectedResource, type ProtectedResource } from './protected-resource.ts';
import { endpointOf } from '../base/resource.ts';

export type DiscoveredResource =
  | { readonly kind: 'protected'; readonly resource: ProtectedResource }
  | {
      readonly kind: 'earlierRevision';
      /** The endpoint's canonical URI: the value for the `resource` parameter. */
      readonly resource: string;
      /** The place of the authorization server; see `discoverEarlierRevision`. */
      readonly authorizationBaseUrl: string;
    };

export interface ResourceDiscovery {
  readonly found: DiscoveredResource;
  /** The challenge that the server itself sent. */
  readonly own?: BearerChallenge;
}

/** `counting` chooses the challenge. Throws Unreachable, authorization_not_required, metadata_invalid, and others. */
export async function discoverResource(
  typed: string,
  http: Http,
  counting = (own: BearerChallenge | undefined): BearerChallenge | undefined => own,
): Promise<ResourceDiscovery> {
  const probed = await probe(typed, http);
  const { at } = probed;
  const resource = await discoverProtectedResource(at, counting(probed.challenge), http);
  if (resource !== undefined) return { found: { kind: 'protected', resource }, own: probed.challenge };
  // The challenge to the GET names no metadata. The protocol is POST, whose challenge may.
  const posted = probed.isPosted ? probed : await probeByPost(at, http).catch(() => probed);
  if (posted !== probed && namesMetadata(posted.challenge)) {
    const named = await discoverProtectedResource(at, posted.challenge, http);
    if (named !== undefined) return { found: { kind: 'protected', resource: named }, own: posted.challenge };
  }
  if (probed.trouble) throw probed.trouble;
  requireDemand(at, probed.status);
  return {
    found: {
      kind: 'earlierRevision',
      resource: endpointOf(at, http),
      authorizationBaseUrl: authorizationBaseUrl(at),
    },
    own: probed.challenge,
  };
}

/** By these statuses a server says that it read the probe and wanted no token. */
const readStatuses: readonly number[] = [400, 406, 409, 415, 422];

/** MCP, Error Handling: a server that wants authorization MUST answer 401; in the earlier revision 403 counts too. */
function requireDemand(endpoint: string, status: number): void {
  if (demandsAuthorization(status)) return;
  const shown = quotedUrl(endpoint);
  if (isSuccess(status) || readStatuses.includes(status)) {
    throw new KeyturnError(
      'authorization_not_required',
      `${shown} answers without a token (status ${status}) and publishes no metadata about authorization.`,
      {
        rule: 'A server that wants a sign-in answers 401 to a request without a token',
        hint: 'Use the server without a token.',
      },
    );
  }
  throw new RuleRefusal(
    'metadata_invalid',
    `${shown} asks for no authorization: it answered with status ${status} and publishes no metadata.`,
    {
      rule: 'A server that wants a sign-in answers 401 to a request without a token (RFC 9728 §5.1)',
      hint: 'Check the URL: it has to be the endpoint of the MCP server.',
    },
  );
}

/**
 * Whether an MCP server offers OAuth: then the user needs no API key for it. A refusal without a challenge or metadata
 * is no offer, since servers with API keys refuse too. True if the server's challenge names metadata (RFC 9728 §5.1),
 * even in an unreadable form, or if the server publishes metadata that covers the endpoint. Throws Unreachable
 * (mcp_server_unreachable) and insecure_url.
 */
export async function offersOAuth(endpoint: string, http: Http): Promise<boolean> {
  const { at, challenge } = await probe(endpoint, http);
  if (namesMetadata(challenge)) return true;
  try {
    return (await discoverProtectedResource(at, challenge, http)) !== undefined;
  } catch (error) {
    if (['metadata_invalid', 'resource_mismatch'].includes(reasonOf(error))) return false;
    throw error;
  }
}
