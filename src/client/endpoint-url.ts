/**
 * Which URLs belong to a protected server's endpoint: the same origin, and a path at or below its.
 *
 * Invariant: a path counts as below only at the boundary of a segment, and never if any spelling of
 * `..` in it, decoded once more by a careless server, would lead out again.
 */
import { KeyturnError, quoted } from '../base/errors.ts';

/** Hosts on which plain HTTP never leaves the machine. A name could resolve elsewhere, except this one. */
const loopbackHosts = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** The endpoint as a URL. Throws `invalid_resource`, or `insecure_url` for HTTP beyond this machine. */
export function endpointUrl(text: string): URL {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.hash) {
    throw new KeyturnError('invalid_resource', `${quoted(text)} is not the URL of a protected server`, {
      hint: 'Give an absolute https URL without user name, password or fragment.',
    });
  }
  if (url.protocol === 'https:' || loopbackHosts.has(url.hostname)) return url;
  throw new KeyturnError('insecure_url', `${quoted(text)} would carry the token unencrypted`, {
    rule: 'RFC 6750 §5.3',
    hint: 'Use https.',
  });
}

/** True if a request to `url` may carry the endpoint's token. */
export function isWithin(endpoint: URL, url: URL): boolean {
  if (url.origin !== endpoint.origin) return false;
  const base = endpoint.pathname.endsWith('/') ? endpoint.pathname : `${endpoint.pathname}/`;
  if (url.pathname !== endpoint.pathname && !url.pathname.startsWith(base)) return false;
  return !climbs(url.pathname);
}

function climbs(pathname: string): boolean {
  try {
    return decodeURIComponent(pathname).split(/[/\\]/).includes('..');
  } catch {
    // Not UTF-8 once decoded: what a server makes of it can't be foreseen.
    return true;
  }
}
