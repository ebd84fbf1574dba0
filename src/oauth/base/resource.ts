/**
 * The canonical URI of an MCP server: the name that tokens are bound to (RFC 8707).
 *
 * Invariant: all spellings of one server have the same canonical form, and the canonical form of that is the same. It
 * has no slash at its end. If a server needs that slash, the metadata of the protected resource says so, and the
 * metadata's value is sent byte for byte.
 */
import { isBelow, withoutEndSlashes } from '../../base/text/below-path.ts';
import { KeyturnError, quotedUrl } from '../../base/errors.ts';
import { isLoopbackHost } from '../../base/text/this-machine.ts';
import type { UrlPolicy } from './secure-url.ts';

/** As many characters as the wire takes (ipc/wire/limits.ts). The parser may lengthen what was typed. */
export const maxUrlLength = 2048;

/** The canonical URI. Throws invalid_resource, with a hint about what to type instead. */
export function canonicalResource(input: string, policy: UrlPolicy): string {
  // The URL parser drops tabs and line breaks and turns \ into /, so the URL shown would differ from the one used.
  if (/[\s\\\u0000-\u001f\u007f-\u009f]/.test(input))
    throw invalid(input, 'it has a space, a backslash or a control character');
  // RFC 8707 §2: an absolute URI. The parser would accept `https:host` and repair it.
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(input)) throw invalid(input, 'it has no scheme');
  const url = URL.parse(input);
  if (url === null) throw invalid(input, 'it is not a URL');
  requireScheme(input, url, policy);
  // RFC 8707 §2: it MUST NOT include a fragment component.
  if (input.includes('#')) throw invalid(input, 'it has a fragment', 'Leave out the # and what follows it.');
  if (url.username !== '' || url.password !== '') {
    throw invalid(input, 'it carries a name or a password', 'Leave out what stands before the @.');
  }
  // RFC 8707 §2: it SHOULD NOT include a query component.
  if (input.includes('?')) throw invalid(input, 'it has a query', 'Leave out the ? and what follows it.');
  const canonical = url.origin + withoutEndSlashes(url.pathname).replaceAll("'", '%27');
  if (canonical.length > maxUrlLength)
    throw invalid(input, `it has more than ${maxUrlLength} characters`, 'Use a shorter URL of this server.');
  return canonical;
}

/** Without the query, which selects what the server offers: tokens are for the server (RFC 8707 §2). */
export function endpointOf(input: string, policy: UrlPolicy): string {
  if (input.length > maxUrlLength)
    throw invalid(input, `it has more than ${maxUrlLength} characters`, 'Use a shorter URL of this server.');
  return canonicalResource(input.replace(/\?[^#]*/, ''), policy);
}

/** The query with its question mark, as it is sent; '' for none. For input that `endpointOf` accepted. */
export function queryOf(input: string): string {
  return input.includes('?') ? new URL(input).search : '';
}

/** The endpoint and its query: the name of what belongs to this one URL only. Throws invalid_resource. */
export function exactEndpoint(input: string, policy: UrlPolicy): string {
  return endpointOf(input, policy) + queryOf(input);
}

/** The URL as the user typed it, with its query and the slash at its end; for input that `endpointOf` accepted. */
export function asTyped(input: string): string {
  return new URL(input).href.replaceAll("'", '%27');
}

/** False if the resource and the URL both have a query, and not the same one: then the token is for another URL. */
export function isResourceOf(resource: string, url: string): boolean {
  return !resource.includes('?') || ['', queryOf(resource)].includes(queryOf(url));
}

function requireScheme(input: string, url: URL, policy: UrlPolicy): void {
  if (url.protocol === 'https:') return;
  if (url.protocol !== 'http:') throw invalid(input, 'its scheme is not https', 'Use the https URL.');
  if (!isLoopbackHost(url.hostname)) throw invalid(input, 'it is plain http', 'Use the https URL.');
  if (!policy.allowInsecureLoopback) {
    const allow = 'keyturn settings set insecureLoopback true, then: keyturn broker restart';
    throw invalid(
      input,
      'it is plain http',
      `Use https. For a server under development on this machine: ${allow}`,
    );
  }
}

function invalid(input: string, problem: string, hint?: string): KeyturnError {
  return new KeyturnError('invalid_resource', `${quotedUrl(input)} can't name an MCP server: ${problem}.`, {
    hint: hint ?? 'Type the whole URL of its endpoint, such as https://server.example/path.',
    rule: 'RFC 8707 §2',
  });
}

/** Same origin, and the path of `resource` is that of `endpoint` or above it. A slash at the end makes no difference. */
export function resourceCovers(resource: string, endpoint: string): boolean {
  const outer = URL.parse(resource);
  const inner = URL.parse(endpoint);
  if (outer === null || inner === null) return false;
  return isBelow(outer, inner);
}
