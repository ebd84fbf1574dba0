/**
 * The first line of a sealed file. It holds the id of the log, and the log's key, encrypted (wrapped) by another key.
 *
 *   keyturn-sealed-file/1 {"logId":…,"key":{…}} SHA-256 LF
 *
 * Invariant: the costs of scrypt in a header are checked before scrypt runs. The hash only tells a damaged header from
 * a wrong passphrase. It has no key, so another program can write a valid header, but gains nothing by it: the wrapped
 * key is authenticated, and every record is bound to the log's key and id.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { VaultError } from '../base/trouble.ts';

const format = 'keyturn-sealed-file/';
const version = '1 ';

/** Bytes. A header takes about 330. A file without a line end in this many bytes has no header. */
const maxHeaderLength = 4096;

/**
 * Limits of scrypt's costs (RFC 7914 §2) in a header, which another program may have written. With N below 2^14 a guess
 * is too fast. 512 MiB (128·N·r bytes) and 2^22 blocks (N·r·p) are four times our own choice: they allow for a stronger
 * choice of a later version, but not for costs that stop the broker or fill its memory.
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
/** scrypt works on `N` blocks of 128·`r` bytes, `p` times. */
export type ScryptCost = z.infer<typeof scryptCostSchema>;

/** A 32-byte key, encrypted with AES-256-GCM: the nonce, and the ciphertext with its tag. */
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
 * The header at the beginning of `file`, and its length in bytes. Throws `vault_unreadable` if the header is damaged,
 * of another version, or outside the limits of scrypt's costs. `name` is the file's, for the message.
 */
export function decodeHeader(file: Buffer, name: string): { header: SealedHeader; length: number } {
  const line = file.subarray(0, maxHeaderLength);
  const end = line.indexOf('\n');
  const text = line.toString('latin1', 0, Math.max(end, 0));
  if (!text.startsWith(format)) throw unreadable(name, 'it does not begin as a sealed file does');
  if (!text.startsWith(format + version)) throw unreadable(name, 'it is of another version');
  const hashed = text.slice(0, text.lastIndexOf(' '));
  if (text.slice(hashed.length + 1) !== sha256(hashed)) throw unreadable(name, 'its first line is damaged');
  const parsed = headerSchema.safeParse(parseJson(hashed.slice(format.length + version.length)));
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

/** The error of a sealed file that can't be used; of one item in it, if `item` names one. */
export function unreadable(name: string, what: string, hint?: string, item?: string): VaultError {
  return new VaultError('damaged', `the sealed file ${name} can't be read: ${what}`, {
    rule: 'vault: what is there and not readable is reported and kept, never treated as empty',
    hint: hint ?? 'It was left as it is. Restore it from a backup, or move it away and sign in again.',
    item,
  });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
