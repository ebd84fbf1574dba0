/**
 * Finds out whether an MCP server offers OAuth. If it does, the user needs no API key for it.
 *
 * Invariant: only what the server says about this endpoint counts. A refusal without a challenge or metadata is no
 * offer of OAuth, since servers with API keys refuse too.
 */
import { reasonOf } from '../../base/errors.ts';
import type { Http } from '../base/http.ts';
import { namesMetadata, probe } from './probe.ts';
import { discoverProtectedResource } from './protected-resource.ts';

/**
 * True if the server's challenge names metadata (RFC 9728 §5.1), even in an unreadable form, or if the server publishes
 * metadata that covers the endpoint. Throws Unreachable (mcp_server_unreachable) and insecure_url.
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
