/** The proof of a key that a token request carries (RFC 9449), where this server issues bound tokens. */
import { createHash, type JsonWebKey } from 'node:crypto';
import type { RecordedRequest } from './server.ts';
import { decodeJwt, verifyJwt } from './jwt.ts';
import { type Parts, Refusal } from './parties.ts';

/** The thumbprint of the key (RFC 7638); undefined without a proof, or at a server that takes none. */
export function provenKey(parts: Parts, { headers, method, url }: RecordedRequest): string | undefined {
  const proof = headers['dpop'];
  if (!parts.settings.dpop || typeof proof !== 'string') return undefined;
  const jwk = decodeJwt(proof).header['jwk'] as JsonWebKey;
  const claims = verifyJwt(proof, jwk)?.claims;
  if (claims?.['htm'] !== method || claims['htu'] !== url.origin + url.pathname)
    throw new Refusal('invalid_dpop_proof', 'the proof is for another request, or not signed by its key');
  if (claims['nonce'] !== parts.nonce)
    throw new Refusal('use_dpop_nonce', 'the nonce is missing', 400, { 'dpop-nonce': parts.nonce });
  const { crv, kty, x, y } = jwk;
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}
