/**
 * Signed tokens over Node's own crypto, independent of the code under test.
 *
 * Invariant: `verifyJwt` takes the algorithm from its own table and only if it fits the key.
 */
import { createPublicKey, generateKeyPairSync, type JsonWebKey, randomUUID, sign, verify } from 'node:crypto';
import { z } from 'zod';

export type Json = Record<string, unknown>;

export interface SigningKey {
  /** The public half, with `kid` and `alg`, as a key set lists it. */
  readonly jwk: JsonWebKey;
  /** A compact JWS by ES256; `iat`, `exp` and the like are the caller's. */
  sign(header: Json, claims: Json): string;
}

/** A new P-256 key: quick to make. */
export function newSigningKey(): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = randomUUID();
  return {
    jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' },
    sign(header, claims) {
      const signed = [{ alg: 'ES256', kid, ...header }, claims].map(encoded).join('.');
      const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
      return `${signed}.${signature.toString('base64url')}`;
    },
  };
}

function encoded(part: Json): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

const object = z.record(z.string(), z.unknown());

/** Header and claims, unchecked: for a test that looks into a token. Throws for what isn't a JWT. */
export function decodeJwt(token: string): { header: Json; claims: Json } {
  const [header = '', claims = ''] = token.split('.');
  return { header: decoded(header), claims: decoded(claims) };
}

function decoded(part: string): Json {
  return object.parse(JSON.parse(Buffer.from(part, 'base64url').toString('utf8')));
}

/** By algorithm, the kind of its keys. */
export const keyTypes: Readonly<Record<string, string>> = { ES256: 'ec', RS256: 'rsa' };

/** Header and claims of a token that this key signed; undefined for any other. */
export function verifyJwt(token: string, jwk: JsonWebKey): { header: Json; claims: Json } | undefined {
  try {
    const { header, claims } = decodeJwt(token);
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    if (key.asymmetricKeyType !== keyTypes[String(header['alg'])]) return undefined;
    const end = token.lastIndexOf('.');
    const signed = Buffer.from(token.slice(0, end));
    const signature = Buffer.from(token.slice(end + 1), 'base64url');
    const isValid = verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature);
    return isValid ? { header, claims } : undefined;
  } catch {
    return undefined;
  }
}
