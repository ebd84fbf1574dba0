/**
 * What a key holder is: it makes keys of ES256 (RFC 7518 §3.4), signs with them, and removes them.
 *
 * Invariants: only a key in software has a private part that anything here can read, and it goes to the vault only. For
 * every other holder the vault keeps where the key lies. `key_lost` is thrown only where the holder was asked and has no
 * such key; whatever may pass by itself is `key_unavailable`.
 */
import { KeyturnError, quoted } from '../../base/errors.ts';
import { z } from 'zod';

/** 32 bytes as base64url (RFC 7518 §6.2). */
const coordinate = z.string().regex(/^[\w-]{43}$/);

const publicFields = { kty: z.literal('EC'), crv: z.literal('P-256'), x: coordinate, y: coordinate };

/** RFC 7517, RFC 7518 §6.2. */
export const publicJwkSchema = z.object(publicFields);
export type PublicJwk = Readonly<z.infer<typeof publicJwkSchema>>;

/** A key in software, as the vault keeps it. */
export const softwareKeySchema = z.object({ ...publicFields, d: coordinate });
export type SoftwareJwk = Readonly<z.infer<typeof softwareKeySchema>>;

/** A token of PKCS#11, and the module that reaches it. */
export const tokenPlaceSchema = z.object({
  /** The path of the module. */
  module: z.string().min(1).max(4096),
  /** The token's label. */
  token: z.string().min(1).max(32),
  /** The token's serial number; two tokens may have one label. */
  serial: z.string().max(16).optional(),
  /** The file with the PIN; absent: the vault has it, or the token wants none. */
  pinFile: z.string().min(1).max(4096).optional(),
});
export type TokenPlace = Readonly<z.infer<typeof tokenPlaceSchema>>;

/** A key in a token: where it lies. */
export const tokenKeySchema = z.object({
  ...publicFields,
  ...tokenPlaceSchema.shape,
  holder: z.literal('pkcs11'),
  /** CKA_ID, in hex. */
  id: z.string().regex(/^[0-9a-f]{32}$/),
});
export type TokenKey = Readonly<z.infer<typeof tokenKeySchema>>;

/** A key as the vault keeps it. */
export const keptKeySchema = z.union([softwareKeySchema, tokenKeySchema]);
export type KeptKey = SoftwareJwk | TokenKey;

export interface SigningKey {
  readonly jwk: PublicJwk;
  /** For the vault only: a key in software shows its private part here. */
  readonly kept: KeptKey;
  /** R and S. Throws `key_lost` and `key_unavailable`. */
  sign(data: Uint8Array): Promise<Uint8Array>;
}

/** `Place`: where a new key should lie. */
export interface KeyHolder<Kept extends KeptKey, Place = void> {
  /** Throws `key_unavailable`. */
  make(place: Place): Promise<SigningKey>;
  /** Asks the holder nothing yet. */
  open(kept: Kept): SigningKey;
  /** Throws `key_unavailable`. A key that isn't there is removed already. */
  remove(kept: Kept): Promise<void>;
}

/** The name of the token that a key lies in; undefined: it lies in the vault. */
export function tokenOf(kept: KeptKey | undefined): string | undefined {
  return kept && 'holder' in kept ? kept.token : undefined;
}

export function keyLost({ token }: Pick<TokenPlace, 'token'>): KeyturnError {
  return new KeyturnError('key_lost', `The key is gone from the security token ${quoted(token)}.`, {
    rule: 'Tokens that are bound to a key (RFC 9449) are worth nothing without it',
    hint: 'Sign in again: that makes a new key. keyturn list shows the grants, keyturn login RESOURCE signs in.',
  });
}

export function keyUnavailable(why: string, hint: string): KeyturnError {
  return new KeyturnError('key_unavailable', `The key can't be used now: ${why}.`, { hint });
}
