/**
 * Which keys are public, and so may check a signature.
 *
 * Invariant: an asymmetric key without its private part. A shared secret in a public place would be everybody's, and a
 * private key that its holder shows is no proof of who holds it (RFC 7517 §9.2, RFC 9449 §4.3).
 */
import type { JWK } from 'jose';
import { z } from 'zod';

/** RFC 7518 §6.2.2, §6.3.2 and §6.4.1, RFC 8037 §2; `priv` is that of AKP, `k` a shared secret. */
const privateParts = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'priv', 'k'] as const;

/** True if a JWK has a member that only its owner may know. */
export function hasPrivatePart(key: object): boolean {
  return privateParts.some((part) => part in key);
}

export const publicKey = z.custom<JWK>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    'kty' in value &&
    typeof value.kty === 'string' &&
    !hasPrivatePart(value),
);
