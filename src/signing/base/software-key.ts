/**
 * Keys in software, which the vault keeps.
 *
 * Invariant: the private part leaves this file only as `kept`, for the vault. No enumerable property shows it, so that
 * neither a log line nor JSON can hold it.
 */
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

import { publicJwkSchema, softwareKeySchema } from './signing-key.ts';
import type { KeyHolder, PublicJwk, SigningKey, SoftwareJwk } from './signing-key.ts';

class SoftwareKey implements SigningKey {
  readonly jwk: PublicJwk;
  readonly #kept: SoftwareJwk;
  readonly #key: KeyObject;

  constructor(kept: SoftwareJwk) {
    this.jwk = publicJwkSchema.parse(kept);
    this.#kept = kept;
    this.#key = createPrivateKey({ key: { ...kept }, format: 'jwk' });
  }

  get kept(): SoftwareJwk {
    return this.#kept;
  }

  async sign(data: Uint8Array): Promise<Uint8Array> {
    // RFC 7518 §3.4: R and S, not DER.
    return sign('sha256', data, { key: this.#key, dsaEncoding: 'ieee-p1363' });
  }
}

export function newSoftwareKey(): SoftwareKey {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return new SoftwareKey(softwareKeySchema.parse(privateKey.export({ format: 'jwk' })));
}

export const softwareKeys = {
  make: async () => newSoftwareKey(),
  open: (kept) => new SoftwareKey(kept),
  // The vault's item was all there was of it.
  remove: async () => undefined,
} as const satisfies KeyHolder<SoftwareJwk>;
