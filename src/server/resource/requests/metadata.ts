/**
 * The protected resource metadata (RFC 9728), and the requests for it.
 *
 * Invariant: `resource` is the configured value byte for byte (§3.3), at each place where a client looks. The
 * document is public: any page may read it, and any cache may keep it for an hour.
 */
import { protectedResourceLocations } from '../../../oauth/discovery/protected-resource.ts';
import type { Answer } from '../base/incoming.ts';
import type { Settings } from '../options.ts';

export interface ResourceMetadata {
  /** The path-specific place, which challenges name. */
  readonly url: string;
  /** The answer, if `path` is one of the document's places. */
  answer(method: string, path: string): Answer | undefined;
}

export function resourceMetadata(settings: Settings): ResourceMetadata {
  const { resource, scopes, dpop } = settings;
  const supported = scopes.supported ?? scopes.required;
  const locations = protectedResourceLocations(resource);
  const seen = new URL(settings.mountPath ?? '', resource).href;
  const places = [...locations, ...protectedResourceLocations(seen)];
  const paths = new Set(places.map((location) => new URL(location).pathname));
  const text = JSON.stringify({
    resource,
    authorization_servers: settings.authorizationServers,
    ...(supported.length === 0 ? {} : { scopes_supported: supported }),
    // RFC 9728 §2: only the header (RFC 6750 §2.1).
    bearer_methods_supported: ['header'],
    dpop_signing_alg_values_supported: dpop.algorithms,
    ...(dpop.required ? { dpop_bound_access_tokens_required: true } : {}),
    resource_name: settings.name,
    resource_documentation: settings.documentation,
  });
  return {
    url: locations[0] ?? resource,
    answer: (method, path) => (paths.has(path) ? answerTo(method, text) : undefined),
  };
}

/** Fetch standard, CORS protocol: a page reads the document, with a header that says the protocol's revision. */
const cors = { 'access-control-allow-origin': '*' };
const methods = 'GET, HEAD, OPTIONS';

function answerTo(method: string, text: string): Answer {
  if (method === 'OPTIONS') {
    const preflight = {
      'access-control-allow-methods': methods,
      'access-control-allow-headers': '*',
      'access-control-max-age': '86400',
    };
    return { status: 204, headers: { ...cors, ...preflight }, body: null };
  }
  if (method !== 'GET' && method !== 'HEAD') {
    return { status: 405, headers: { ...cors, allow: methods, 'cache-control': 'no-store' }, body: null };
  }
  const headers = { ...cors, 'content-type': 'application/json', 'cache-control': 'public, max-age=3600' };
  return { status: 200, headers, body: method === 'HEAD' ? null : text };
}
