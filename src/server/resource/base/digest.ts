/**
 * SHA-256 of a token, as base64url: its name in caches, and the `ath` of a proof (RFC 9449 §4.2).
 *
 * Invariant: no cache and no record holds a token itself.
 */
import { base64url } from 'jose';

const encoder = new TextEncoder();

export async function sha256(text: string): Promise<string> {
  return base64url.encode(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text))));
}
