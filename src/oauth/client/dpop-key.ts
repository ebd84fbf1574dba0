/**
 * The key that the tokens of one grant are bound to, and the proofs that it signs (RFC 9449).
 *
 * Invariants: the private part leaves this class only by `toKept`, for the vault. No property shows it, so that neither a
 * log line nor JSON can hold it. Each proof has a `jti` of its own.
 */
import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { proofAlgorithm } from '../base/proof-algorithm.ts';

/** 32 bytes as base64url (RFC 7518 §6.2). */
const coordinate = z.string().regex(/^[\w-]{43}$/);

/** A key of ES256 (RFC 7517, RFC 7518 §6.2), as the vault keeps it. */
export const dpopJwkSchema = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: coordinate,
  y: coordinate,
  d: coordinate,
});
export type DpopJwk = Readonly<z.infer<typeof dpopJwkSchema>>;

export interface ProofRequest {
  /** The HTTP method as it is sent: upper case for the usual ones. */
  readonly method: string;
  /** The URL of the request. Query and fragment are left out of the proof (RFC 9449 §4.2, htu). */
  readonly url: URL;
  /** The access token that is sent with it; absent at the token endpoint. */
  readonly accessToken?: string;
  /** Of the server that gets the proof (RFC 9449 §8, §9). */
  readonly nonce?: string | undefined;
  /** Milliseconds since 1970, by the clock of the server that gets the proof. */
  readonly time: number;
}

export class DpopKey {
  /** RFC 7638: names the key without showing it. It is the `dpop_jkt` of a sign-in and the `jkt` of its tokens. */
  readonly thumbprint: string;
  /** The last nonce of the authorization server (RFC 9449 §8.2). */
  #issuerNonce: string | undefined;
  readonly #jwk: DpopJwk;
  readonly #key: KeyObject;
  readonly #header: string;

  constructor(jwk: DpopJwk) {
    const { kty, crv, x, y } = jwk;
    this.#jwk = jwk;
    this.#key = createPrivateKey({ key: { ...jwk }, format: 'jwk' });
    this.#header = encoded({ alg: proofAlgorithm, typ: 'dpop+jwt', jwk: { kty, crv, x, y } });
    // RFC 7638 §3.2: the required members, in the order of their names.
    this.thumbprint = sha256(JSON.stringify({ crv, kty, x, y }));
  }

  static create(): DpopKey {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return new DpopKey(dpopJwkSchema.parse(privateKey.export({ format: 'jwk' })));
  }

  /** For the vault only. */
  toKept(): DpopJwk {
    return this.#jwk;
  }

  get issuerNonce(): string | undefined {
    return this.#issuerNonce;
  }

  /** Keeps the nonce of an answer of the authorization server, if it has one. */
  noteIssuerNonce(headers: { get(name: string): string | null }): void {
    const nonce = headers.get('dpop-nonce');
    if (nonce !== null && noncePattern.test(nonce)) this.#issuerNonce = nonce;
  }

  /** RFC 9449 §4.2: a proof for one request. */
  proof({ method, url, accessToken, nonce, time }: ProofRequest): string {
    const claims = encoded({
      jti: randomBytes(16).toString('base64url'),
      htm: method,
      htu: url.origin + url.pathname,
      iat: Math.floor(time / 1000),
      ath: accessToken === undefined ? undefined : sha256(accessToken),
      nonce,
    });
    const signed = `${this.#header}.${claims}`;
    // RFC 7518 §3.4: R and S, not DER.
    const signature = sign('sha256', Buffer.from(signed), { key: this.#key, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
  }
}

/** RFC 9449 §8.1 (NQCHAR). The length is a bound: a nonce is a few dozen characters. */
const noncePattern = /^[\x21\x23-\x5b\x5d-\x7e]{1,512}$/;

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
