/**
 * The metadata that an MCP server publishes about itself (RFC 9728).
 *
 * Invariant: metadata whose `resource` names another server than the one that was asked is never used, so that one
 * server can't make us fetch tokens for another.
 */
import { z } from 'zod';
import { quoted, quotedUrl, RuleRefusal } from '../../base/errors.ts';
import type { BearerChallenge } from './challenge.ts';
import type { Http } from '../base/http.ts';
import { fetchMetadata, firstMetadata, textList, type FoundDocument } from './metadata-document.ts';
import { withoutEndSlashes } from '../../base/text/below-path.ts';
import { proofAlgorithm } from '../base/proof-algorithm.ts';
import { endpointOf, isResourceOf, maxUrlLength, resourceCovers } from '../base/resource.ts';
import { readScope } from '../base/scope.ts';

const unreachable = 'mcp_server_unreachable';

export interface ProtectedResource {
  /** The value for the `resource` parameter: byte for byte from the metadata, else the endpoint's canonical URI. */
  readonly resource: string;
  /** The issuers as the server wrote them, in its order. Each is checked when it is used. */
  readonly authorizationServers: readonly [string, ...string[]];
  /** Well-formed scopes only. */
  readonly scopesSupported?: readonly string[];
  /** Set if the server takes only tokens that are bound to a DPoP key (RFC 9449). */
  readonly wantsBoundTokens?: true;
}

const protectedResourceSchema = z.looseObject({
  // GitLab writes it as a list of one.
  resource: z.union([z.string(), z.tuple([z.string()]).transform(([one]) => one)]).optional(),
  authorization_servers: textList.pipe(z.tuple([z.string()], z.string())),
  // RFC 9728 §2. An unreadable value of these counts as absent.
  scopes_supported: textList.optional().catch(undefined),
  dpop_bound_access_tokens_required: z.boolean().optional().catch(undefined),
  dpop_signing_alg_values_supported: textList.optional().catch(undefined),
});

/** Undefined if there is none anywhere. Throws resource_mismatch, metadata_invalid, insecure_url, Unreachable. */
export async function discoverProtectedResource(
  endpoint: string,
  challenge: BearerChallenge | undefined,
  http: Http,
): Promise<ProtectedResource | undefined> {
  if (challenge?.isUnreadable) throw unreadable(endpoint);
  const named = challenge?.resourceMetadata;
  const found =
    named === undefined
      ? await firstMetadata(
          protectedResourceLocations(endpoint),
          { field: 'authorization_servers' },
          http,
          unreachable,
        )
      : await namedDocument(absolute(named, endpoint), http);
  // Web applications answer unknown paths with a page.
  return typeof found === 'string' ? undefined : processProtectedResource(endpoint, found, http);
}

/**
 * RFC 9728 §3.1: first the well-known part between host and path, with the query if there is one, then the root form.
 * If the path ends in a slash, the form without the slash is tried too, since servers publish either.
 */
export function protectedResourceLocations(endpoint: string): string[] {
  const { origin, pathname, search } = new URL(endpoint);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  return [...new Set([pathname + search, pathname, withoutEndSlashes(pathname), ''])]
    .filter((path) => path !== '/')
    .map((path) => root + path);
}

/** RFC 9728 §5.1 wants a URL. A path alone can only mean the endpoint's own origin. */
function absolute(named: string, endpoint: string): string {
  return /^\/(?!\/)/.test(named) ? new URL(endpoint).origin + named : named;
}

/** MCP, Protected Resource Metadata Discovery Requirements: a document that the challenge names is the only one. */
async function namedDocument(url: string, http: Http): Promise<FoundDocument> {
  const answer = await fetchMetadata(url, http, unreachable);
  if (answer.kind === 'found') return answer;
  const what = answer.kind === 'page' ? 'what is there is no JSON' : 'it is not there';
  throw new RuleRefusal(
    'metadata_invalid',
    `The MCP server's challenge names its metadata at ${quotedUrl(url)}, but ${what} (status ${answer.status}).`,
    {
      rule: 'RFC 9728 §5.1',
      hint: 'The server names the wrong document. Tell its operator.',
    },
  );
}

/** A challenge that names metadata never counts as one that names none. */
function unreadable(endpoint: string): RuleRefusal {
  return new RuleRefusal(
    'metadata_invalid',
    `The challenge of ${quotedUrl(endpoint)} names its metadata in a form that can't be read.`,
    {
      rule: 'RFC 9728 §5.1, RFC 9110 §11.6.1',
      hint: 'The server has to write resource_metadata="URL", with quotes and commas. Tell its operator.',
    },
  );
}

function processProtectedResource(
  endpoint: string,
  { url: metadataUrl, json }: FoundDocument,
  http: Http,
): ProtectedResource {
  const parsed = protectedResourceSchema.safeParse(json);
  if (!parsed.success) throw malformed(metadataUrl, parsed.error);
  const { resource, authorization_servers: authorizationServers, scopes_supported: scopes } = parsed.data;
  const { dpop_bound_access_tokens_required: isRequired, dpop_signing_alg_values_supported: algs } =
    parsed.data;
  // RFC 9728 §3.3: metadata for another resource MUST NOT be used.
  if (resource !== undefined && !isUsable(resource, endpoint)) throw mismatch(endpoint, resource);
  return {
    resource: resource ?? endpointOf(endpoint, http),
    authorizationServers,
    scopesSupported: scopes?.flatMap(readScope),
    wantsBoundTokens: (isRequired && (algs?.includes(proofAlgorithm) ?? true)) || undefined,
  };
}

/** RFC 8707 §2: no fragment. No user name, which can look like another host, and no text that lists can't show. */
function isUsable(resource: string, endpoint: string): boolean {
  const url = resource.length > maxUrlLength ? null : URL.parse(resource);
  if (url === null || resource.includes('#') || url.username !== '' || url.password !== '') return false;
  return isResourceOf(resource, endpoint) && resourceCovers(resource, endpoint);
}

function mismatch(endpoint: string, resource: string): RuleRefusal {
  return new RuleRefusal(
    'resource_mismatch',
    `The metadata of ${quoted(endpoint)} is about another resource, ${quoted(resource)}.`,
    {
      rule: 'RFC 9728 §3.3',
      hint: 'Check the URL that you typed. If it is right, the server is set up wrongly: tell its operator.',
    },
  );
}

function malformed(metadataUrl: string, error: z.ZodError): RuleRefusal {
  const fields = error.issues.map((issue) => issue.path[0] ?? 'the document').join(', ');
  return new RuleRefusal(
    'metadata_invalid',
    `The protected resource metadata at ${quotedUrl(metadataUrl)} is malformed: ${quoted(fields)}.`,
    {
      rule: 'RFC 9728 §2',
      hint: 'resource has to be one URL, and authorization_servers a list with at least one. Tell its operator.',
    },
  );
}
