/**
 * Which addresses may get the answer of an authorization.
 *
 * Invariant: a redirect URI is https, or http to this machine (MCP, Communication Security). Nothing else
 * is ever registered, and the provider compares what a request names with what was registered, character by
 * character; the port of a loopback address is free (RFC 8252 §7.3).
 */
import { climbs } from '../../../base/text/below-path.ts';
import { isLoopbackHost, isThisMachine } from '../../../base/text/this-machine.ts';

/** What is wrong with a redirect URI, as the end of a sentence; undefined: it may be used. */
export function redirectProblem(text: string): string | undefined {
  if (!/^[\x21-\x7e]+$/.test(text)) return 'a redirect URI has characters that no URL has';
  const url = URL.parse(text);
  if (url === null) return 'a redirect URI is not a URL';
  // A browser takes `https:host` for a path of the page that it is on.
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/\\]/i.test(text)) return noWebAddress;
  if (text.includes('#')) return 'a redirect URI has a fragment';
  if (url.username !== '' || url.password !== '') return 'a redirect URI carries a name or a password';
  // Browsers resolve dot segments, so the text that was compared would not be the address that is reached.
  if (/\/(?:\.|%2e){1,2}(?:[/?]|$)/i.test(text) || climbs(url.pathname))
    return 'a redirect URI has dot segments';
  if (url.protocol === 'https:') return undefined;
  if (url.protocol === 'http:' && isLoopbackHost(url.hostname)) return undefined;
  return noWebAddress;
}

const noWebAddress = 'a redirect URI is neither https nor http to a loopback address';

/** True if the answer stays on the machine of the browser. */
export function isLocal(redirectUri: string): boolean {
  const hostname = URL.parse(redirectUri)?.hostname;
  return hostname !== undefined && isThisMachine(hostname);
}
