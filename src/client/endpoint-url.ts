/** Which URLs belong to an MCP server's endpoint: the same origin, and a path at or below its. */
import { isBelow } from '../base/text/below-path.ts';
import { KeyturnError, quoted } from '../base/errors.ts';
import { isLoopbackHost } from '../base/text/this-machine.ts';

/** The endpoint as a URL. Throws `invalid_resource`, or `insecure_url` for HTTP beyond this machine. */
export function endpointUrl(text: string): URL {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.hash) {
    throw new KeyturnError('invalid_resource', `${quoted(text)} is not the URL of an MCP server`, {
      hint: 'Give an absolute https URL without user name, password or fragment.',
    });
  }
  if (url.protocol === 'https:' || isLoopbackHost(url.hostname)) return url;
  throw new KeyturnError('insecure_url', `${quoted(text)} would carry the token unencrypted`, {
    rule: 'RFC 6750 §5.3',
    hint: 'Use https.',
  });
}

/** True if a request to `url` may carry the endpoint's token. */
export const isWithin = (endpoint: URL, url: URL): boolean => isBelow(endpoint, url);
