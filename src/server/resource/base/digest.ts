/**
 * SHA-256 of a token, as base64url: its name in caches, and the `ath` of a proof (RFC 9449 §4.2).
 *
 * Invariant: no cache and no record holds a token itself.
 */
import { sha256 as hash } from '@noble/hashes/sha2.js';
import { base64url } from 'jose';

const encoder = new TextEncoder();

/** At once: the wait for WebCrypto's takes longer than all other checks of a known token together. */
export function sha256(text: string): string {
  return base64url.encode(hash(encoder.encode(text)));
}
