/**
 * Whether a protected server offers OAuth, so that an API key is not what it wants.
 *
 * Invariant: only what the server says of this very endpoint counts. A server that refuses every path without a key says
 * nothing about OAuth by that.
 */
import { reasonOf } from '../../base/errors.ts';
import type { Http } from '../base/http.ts';
import { probeEitherSpelling } from './probe.ts';
import { discoverProtectedResource } from './protected-resource.ts';

/**
 * True if its challenge names metadata (RFC 9728 §5.1), in whatever form, or if it publishes metadata that covers the
 * endpoint. Throws Unreachable (protected_server_unreachable) and insecure_url.
 */
export async function offersOAuth(endpoint: string, http: Http): Promise<boolean> {
  const { at, challenge } = await probeEitherSpelling(endpoint, http);
  if (challenge?.isUnreadable || challenge?.resourceMetadata !== undefined) return true;
  try {
    return (await discoverProtectedResource(at, challenge, http)) !== undefined;
  } catch (error) {
    if (['metadata_invalid', 'resource_mismatch'].includes(reasonOf(error))) return false;
    throw error;
  }
}
