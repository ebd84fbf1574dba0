/**
 * The messages between the broker and the process that holds a module of PKCS#11.
 *
 * Invariant: each side parses each message with these schemas before it uses a field. Only the digest of what is signed
 * crosses, and the PIN, never a private key.
 */
import { z } from 'zod';

import { publicJwkSchema, tokenPlaceSchema } from '../base/signing-key.ts';

const id = z.int().positive();
const hex = z.string().regex(/^[0-9a-f]{32}$/);

const asked = {
  /** An answer has the id of its request. */
  id,
  place: tokenPlaceSchema.omit({ pinFile: true }),
  /** Given once the answer was `pinWanted`. */
  pin: z.string().min(1).max(1024).optional(),
  /** CKA_ID of the key. */
  key: hex,
};

export const requestSchema = z.discriminatedUnion('op', [
  z.object({ ...asked, op: z.literal('make') }),
  /** SHA-256 of what is signed, base64url. */
  z.object({ ...asked, op: z.literal('sign'), digest: z.string().regex(/^[\w-]{43}$/) }),
  z.object({ ...asked, op: z.literal('remove') }),
]);
export type SignerRequest = z.infer<typeof requestSchema>;

/** A request before it is sent. */
export type SignerCall = SignerRequest extends infer R
  ? R extends SignerRequest
    ? Omit<R, 'id' | 'pin'>
    : never
  : never;

export const madeSchema = z.object({ jwk: publicJwkSchema, serial: z.string().max(16) });
export const signatureSchema = z.string().regex(/^[\w-]{86}$/);

/** Why there is no value. */
export const failures = [
  /** The module doesn't load, or doesn't begin its work. */
  'module',
  /** No token of this label and serial number is there. */
  'token',
  'pinWanted',
  /** The PIN is wrong, or the token takes none any more. */
  'pinRefused',
  'pinLocked',
  /** The token is there, is open, and has no such key. */
  'key',
  /** The token would let the key out. */
  'extractable',
  /** Any other refusal, by its number. */
  'refused',
] as const;
export type SignerFailure = (typeof failures)[number];

export const answerSchema = z.discriminatedUnion('ok', [
  z.object({ id, ok: z.literal(true), value: z.unknown() }),
  z.object({
    id,
    ok: z.literal(false),
    failure: z.enum(failures),
    /** Of ours, without text of the module: a call and its number. */
    message: z.string().max(200),
  }),
]);
export type SignerAnswer = z.infer<typeof answerSchema>;
