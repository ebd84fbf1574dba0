/**
 * The first line of a sealed file: which log it is, and how its key is wrapped.
 *
 *   keyturn-sealed-file/1 {"logId":…,"key":{…}} SHA-256 LF
 *
 * Invariant: a header that asks for absurd work is refused before any is done. The hash has no key: it tells
 * a damaged header from a wrong passphrase, and doesn't keep anybody from writing another header. That wins
 * nothing: the wrapped key is authenticated, and every record is bound to key and log id.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { VaultError } from '../base/trouble.ts';

const format = 'keyturn-sealed-file/';
const version = '1 ';

/** Bytes. A header takes 330; what has no line end by here is no header. */
const maxHeaderLength = 4096;

/**
 * Bounds of scrypt (RFC 7914 §2) in a header that somebody else may have written. Below 2^14 it no
 * longer slows a guess. 512 MiB (128·N·r bytes) and 2^22 blocks (N·r·p) are four times what we ask for
 * ourselves: a stronger choice of a later version passes, a stall or a full memory doesn't.
 */
const scryptBounds = { minN: 2 ** 14, maxMemory: 512 * 1024 * 1024, maxWork: 2 ** 22 } as const;

/** Base64url of exactly this many bytes. */
const bytes = (length: number): z.ZodString =>
  z.string().regex(new RegExp(`^[A-Za-z0-9_-]{${Math.ceil((length * 4) / 3)}}$`));

export const scryptCostSchema = z
  .object({ N: z.int(), r: z.int().min(1), p: z.int().min(1) })
  .refine(
    ({ N, r, p }) =>
      N >= scryptBounds.minN &&
      Number.isInteger(Math.log2(N)) &&
      128 * N * r <= scryptBounds.maxMemory &&
      N * r * p <= scryptBounds.maxWork,
    'the work that it asks for is out of bounds',
  );
/** `N` blocks of 128·`r` bytes, `p` times. */
export type ScryptCost = z.infer<typeof scryptCostSchema>;

/** A 32-byte key under AES-256-GCM: nonce, and ciphertext with its tag. */
const wrappedKeySchema = z.object({ nonce: bytes(12), sealed: bytes(48) });
export type WrappedKey = z.infer<typeof wrappedKeySchema>;

const headerSchema = z.strictObject({
  logId: bytes(16),
  key: z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('passphrase'),
      cost: scryptCostSchema,
      salt: bytes(32),
      wrapped: wrappedKeySchema,
    }),
    z.strictObject({ kind: z.literal('keychain'), wrapped: wrappedKeySchema }),
  ]),
});
export type SealedHeader = z.infer<typeof headerSchema>;

export function encodeHeader(header: SealedHeader): Buffer {
  const text = `${format}${version}${JSON.stringify(header)}`;
  return Buffer.from(`${text} ${sha256(text)}\n`);
}

/**
 * The header that `file` begins with, and its length in bytes. Throws `vault_unreadable` for one that
 * is damaged, of another version, or asks for absurd work. `name` is the file's, for the message.
 */
export function decodeHeader(file: Buffer, name: string): { header: SealedHeader; length: number } {
  const line = file.subarray(0, maxHeaderLength);
  const end = line.indexOf('\n');
  const text = line.toString('latin1', 0, Math.max(end, 0));
  if (!text.startsWith(format)) throw unreadable(name, 'it does not begin as a sealed file does');
  if (!text.startsWith(format + version)) throw unreadable(name, 'it is of another version');
  const signed = text.slice(0, text.lastIndexOf(' '));
  if (text.slice(signed.length + 1) !== sha256(signed)) throw unreadable(name, 'its first line is damaged');
  const parsed = headerSchema.safeParse(parseJson(signed.slice(format.length + version.length)));
  if (parsed.success) return { header: parsed.data, length: end + 1 };
  const issue = parsed.error.issues[0];
  throw unreadable(name, `${issue?.path.join('.') ?? 'its first line'}: ${issue?.message ?? 'wrong shape'}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Every way in which a sealed file as a whole can't be used. */
export function unreadable(name: string, what: string, hint?: string, item?: string): VaultError {
  return new VaultError('damaged', `the sealed file ${name} can't be read: ${what}`, {
    rule: 'vault: what is there and not readable is reported and kept, never treated as empty',
    hint: hint ?? 'it was left as it is. Restore it from a backup, or move it away and sign in again',
    ...(item === undefined ? {} : { item }),
  });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
