/**
 * What a client transport of the protocol's SDK takes, for one MCP server. Both major versions take the same.
 *
 * Invariant: no request waits for a user so long that the SDK gives it up first. Else the call would be sent after
 * the client got its failure.
 */
import type { Connection } from './connection.ts';
import { createFetch, type FetchOptions, tokenParams } from './fetch/fetch.ts';

/**
 * Seconds. The SDK gives up a request after 60 (`DEFAULT_REQUEST_TIMEOUT_MSEC`, the same in both major versions); the
 * rest is for the server's own answers before and after.
 */
const requestTimeout = 45;

/** Structural, so that nothing here needs the SDK: its transports take more than this, all of it optional. */
export interface TransportOptions {
  readonly fetch: typeof globalThis.fetch;
}

/**
 * Gets the first token, or API key, and returns the options of a transport that authorizes itself. With `interaction:
 * 'allow'` the user has the broker's five minutes for the first questions. A later one, in the middle of a session,
 * is refused as `consent_pending` or `login_pending` after `timeout` seconds (45), and stays open: call again once it
 * was answered. Throws the broker's refusals, `invalid_resource` or `insecure_url`.
 */
export async function transportOptions(
  connection: Connection,
  options: FetchOptions,
): Promise<TransportOptions> {
  const fetch = createFetch(connection, { ...options, timeout: options.timeout ?? requestTimeout });
  const { timeout: _forRequestsOnly, ...first } = tokenParams(options);
  const { kinds } = options;
  if (kinds?.includes('apiKey')) await connection.getCredential({ ...first, kinds });
  else await connection.getToken(first);
  return { fetch };
}
