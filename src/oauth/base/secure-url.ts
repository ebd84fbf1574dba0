/**
 * Which URLs Keyturn sends requests to, and which it opens in the browser.
 *
 * Invariant: only https is accepted, and http for a loopback host if the caller allows it. So no `javascript:`, `data:`
 * or `file:` URL that a server names is ever fetched or opened.
 */
import { quotedUrl, RuleRefusal } from '../../base/errors.ts';
import { isLoopbackHost } from '../../base/text/this-machine.ts';

export interface UrlPolicy {
  /** True if http is accepted for loopback hosts (development, tests). For other hosts it never is. */
  readonly allowInsecureLoopback: boolean;
}

/**
 * The URL, if it is secure. `what` names it in the refusal ("the token endpoint"). Throws insecure_url for any other
 * scheme, for credentials or a fragment in the URL, and for single quotes, backslashes, spaces, control characters and
 * letters beyond ASCII (in a URL an international name has its `xn--` form).
 */
export function requireSecureUrl(text: string, what: string, policy: UrlPolicy): URL {
  // RFC 3986 §2: printable ASCII. The parser would drop a tab or a line break. Then the text that we show, or compare
  // as an issuer, would differ from the URL that we fetch. No single quote either: it may be in a command to paste.
  if (!/^[\x21-\x7e]*$/.test(text) || /['\\]/.test(text))
    throw refusal(text, `${what} has characters that no URL has`);
  const url = URL.parse(text);
  if (url === null) throw refusal(text, `${what} is not an absolute URL`);
  // MCP, Communication Security: all authorization endpoints MUST be served over HTTPS.
  const loopback = url.protocol === 'http:' && policy.allowInsecureLoopback && isLoopbackHost(url.hostname);
  if (url.protocol !== 'https:' && !loopback) throw refusal(text, `${what} is not an https URL`);
  // A name before the host makes one host look like another; Fetch refuses such URLs too.
  if (url.username !== '' || url.password !== '') throw refusal(text, `${what} carries credentials`);
  // RFC 6749 §3.1 and §3.2: an endpoint has no fragment.
  if (text.includes('#')) throw refusal(text, `${what} has a fragment`);
  return url;
}

function refusal(text: string, problem: string): RuleRefusal {
  return new RuleRefusal('insecure_url', `Refused a URL: ${problem}: ${quotedUrl(text)}.`, {
    rule: 'All authorization endpoints are served over HTTPS (OAuth 2.1 §1.5)',
    hint: 'The server has to name an https URL. Plain http works for loopback hosts only, where settings allow it.',
  });
}
