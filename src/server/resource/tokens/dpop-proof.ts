/**
 * One DPoP proof: the checks of RFC 9449 §4.3.
 *
 * Invariant: a proof counts for one method, one URL, one token and one key, and for a minute. The URL is that of the
 * configured resource, never what a Host header says.
 */
import {
  calculateJwkThumbprint,
  compactVerify,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  importJWK,
} from 'jose';
import type { CryptoKey, JWK } from 'jose';
import { z } from 'zod';
import { Refusal } from '../base/refusal.ts';
import { publicKey } from '../base/public-key.ts';

export interface ProofExpectation {
  readonly method: string;
  /** The URL of the request; query and fragment don't count. */
  readonly url: string;
  /** SHA-256 of the token (§4.2). */
  readonly tokenDigest: string;
  /** The key that the token is bound to. */
  readonly keyThumbprint: string;
  /** Seconds since 1970. */
  readonly now: number;
  readonly maxAgeSeconds: number;
  readonly algorithms: readonly string[];
}

export interface Proof {
  readonly jti: string;
  readonly nonce?: string | undefined;
}

/** Characters: a proof has a key, a URL and a few claims. */
const maxLength = 4096;

/** Seconds that a client's clock may be ahead. */
const aheadSeconds = 5;

const headerSchema = z.looseObject({
  typ: z.literal('dpop+jwt'),
  alg: z.string(),
  jwk: publicKey,
  crit: z.never().optional(),
});

const claimsSchema = z.looseObject({
  // A nonce, a UUID or a digest; what is longer only fills memory.
  jti: z.string().min(1).max(256),
  htm: z.string(),
  htu: z.string(),
  iat: z.number(),
  ath: z.string(),
  nonce: z.string().optional(),
});

/** Throws a refusal. Whether the proof was used before, and its nonce, are checked by the caller. */
export async function checkProof(proof: string, expected: ProofExpectation): Promise<Proof> {
  const header = readHeader(proof, expected.algorithms);
  // Before the signature: a proof of another key needs no further look.
  if ((await thumbprint(header.jwk)) !== expected.keyThumbprint) throw new Refusal('proof_wrong_key');
  const claims = await verifiedClaims(proof, header.jwk, header.alg);
  if (claims.htm !== expected.method || !isSameUrl(claims.htu, expected.url)) {
    throw new Refusal('proof_wrong_request');
  }
  const age = expected.now - claims.iat;
  if (age > expected.maxAgeSeconds || age < -aheadSeconds) throw new Refusal('proof_wrong_time');
  if (claims.ath !== expected.tokenDigest) throw new Refusal('proof_wrong_token');
  return { jti: claims.jti, nonce: claims.nonce };
}

/** How long a proof can pass after it passed first, in seconds. The last moment counts, so there is one second more. */
export function proofLifetime(maxAgeSeconds: number): number {
  return maxAgeSeconds + aheadSeconds + 1;
}

function readHeader(proof: string, algorithms: readonly string[]): { alg: string; jwk: JWK } {
  // Two headers reach us joined by a comma, which no JWT has (§4.3, step 1).
  if (proof.length > maxLength || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(proof))
    throw new Refusal('proof_unreadable');
  let parsed;
  try {
    parsed = headerSchema.safeParse(decodeProtectedHeader(proof));
  } catch {
    throw new Refusal('proof_unreadable');
  }
  if (!parsed.success || !algorithms.includes(parsed.data.alg)) throw new Refusal('proof_unreadable');
  return { alg: parsed.data.alg, jwk: parsed.data.jwk };
}

async function thumbprint(jwk: JWK): Promise<string> {
  try {
    return await calculateJwkThumbprint(jwk, 'sha256');
  } catch {
    throw new Refusal('proof_unreadable');
  }
}

async function verifiedClaims(proof: string, jwk: JWK, alg: string): Promise<z.infer<typeof claimsSchema>> {
  let payload: unknown;
  try {
    const key = (await importJWK(jwk, alg)) as CryptoKey;
    await compactVerify(proof, key, { algorithms: [alg] });
    payload = decodeJwt(proof);
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError || error instanceof DOMException) {
      throw new Refusal('proof_wrong_signature');
    }
    throw error;
  }
  const parsed = claimsSchema.safeParse(payload);
  if (!parsed.success) throw new Refusal('proof_unreadable');
  return parsed.data;
}

/** §4.3, step 9: compared in normal form (RFC 3986 §6.2.2 and §6.2.3), without query and fragment. */
function isSameUrl(stated: string, actual: string): boolean {
  const [one, other] = [URL.parse(stated), URL.parse(actual)];
  return one !== null && other !== null && one.origin === other.origin && one.pathname === other.pathname;
}
