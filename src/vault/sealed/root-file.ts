/**
 * The root key in the file `items/root`, encrypted (wrapped) by a key that scrypt makes of a passphrase.
 *
 * Invariants: the costs of scrypt in a file are checked before scrypt runs. No message contains a passphrase or a key.
 * Only GCM's tag, compared in constant time, shows that a passphrase is wrong. The caller makes the user wait longer
 * after each wrong one.
 */
import { createSecretKey, randomBytes, scrypt as scryptCallback } from 'node:crypto';
import type { KeyObject, ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { KeyturnError } from '../../base/errors.ts';
import { rootItem } from '../base/item-store.ts';
import { decrypted, encrypted, nonceLength, tagLength } from '../base/sealed-item.ts';
import { VaultError } from '../base/trouble.ts';
import { unreadable } from './item-folder.ts';

const scrypt = promisify<string, Buffer, number, ScryptOptions, Buffer>(scryptCallback);

/**
 * Limits of scrypt's costs (RFC 7914 §2) in a file, which another program may have written. With N below 2^14 a guess
 * is too fast. 512 MiB (128·N·r bytes) and 2^22 blocks (N·r·p) are four times our own choice: they allow for a stronger
 * choice of a later version, but not for costs that stop the broker or fill its memory.
 */
const scryptBounds = { minN: 2 ** 14, maxMemory: 512 * 1024 * 1024, maxWork: 2 ** 22 } as const;

export const scryptCostSchema = z
  .strictObject({ N: z.int(), r: z.int().min(1), p: z.int().min(1) })
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

/** One guess takes 128 MiB and a third of a second. OWASP's list of scrypt parameters begins with this choice. */
export const defaultCost: ScryptCost = { N: 2 ** 17, r: 8, p: 1 };

/** Base64url of exactly this many bytes. */
const bytes = (length: number): z.ZodString =>
  z.string().regex(new RegExp(`^[A-Za-z0-9_-]{${Math.ceil((length * 4) / 3)}}$`));

/** Bytes: AES-256. */
const keyLength = 32;

const rootFileSchema = z.strictObject({
  version: z.literal(1),
  cost: scryptCostSchema,
  salt: bytes(32),
  nonce: bytes(nonceLength),
  sealed: bytes(keyLength + tagLength),
});

/** Characters. Nobody types more. The limit refuses a whole file that was passed as a passphrase by mistake. */
const maxPassphraseLength = 1024;

/** The text of a root file. Throws `invalid_request` for a missing passphrase. */
export async function wrapRoot(
  root: KeyObject,
  homeId: string,
  passphrase: string | undefined,
  cost: ScryptCost,
): Promise<string> {
  const salt = randomBytes(32);
  const sealed = encrypted(await passphraseKey(passphrase, cost, salt), root.export(), boundTo(homeId));
  const text = (part: Buffer): string => part.toString('base64url');
  const [nonce, rest] = [sealed.subarray(0, nonceLength), sealed.subarray(nonceLength)];
  const file = { version: 1, cost, salt: text(salt), nonce: text(nonce), sealed: text(rest) } as const;
  return `${JSON.stringify(file satisfies z.infer<typeof rootFileSchema>)}\n`;
}

/**
 * The root key in `content`. Throws `locked` for a wrong passphrase, `invalid_request` for a missing one, and
 * `vault_unreadable`. `file` is the path, for the message.
 */
export async function unwrapRoot(
  content: string,
  homeId: string,
  passphrase: string | undefined,
  file: string,
): Promise<KeyObject> {
  const { cost, ...given } = parsed(content, file);
  const wrapping = await passphraseKey(passphrase, cost, Buffer.from(given.salt, 'base64url'));
  // Each part has its exact length, so that the two can be read as one.
  const sealed = Buffer.concat([given.nonce, given.sealed].map((part) => Buffer.from(part, 'base64url')));
  const root = decrypted(wrapping, sealed, boundTo(homeId), (key) => createSecretKey(key));
  if (!root)
    throw new VaultError('locked', 'this passphrase does not open the vault', {
      hint: 'Try again with the passphrase that the vault has now.',
    });
  return root;
}

function parsed(content: string, file: string): z.infer<typeof rootFileSchema> {
  let json: unknown;
  try {
    json = JSON.parse(content);
  } catch {
    throw unreadable(file, 'it is no JSON', rootItem);
  }
  const found = rootFileSchema.safeParse(json);
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  throw unreadable(
    file,
    `${issue?.path.join('.') || 'its content'}: ${issue?.message ?? 'wrong shape'}`,
    rootItem,
  );
}

/** A key of 32 bytes. `cost` has passed `scryptCostSchema`. */
async function passphraseKey(
  passphrase: string | undefined,
  cost: ScryptCost,
  salt: Buffer,
): Promise<KeyObject> {
  if (!passphrase || passphrase.length > maxPassphraseLength)
    throw new KeyturnError('invalid_request', 'the vault opens with a passphrase', {
      rule: `vault: a passphrase has 1 to ${maxPassphraseLength} characters`,
      hint: 'Unlock it with: keyturn unlock',
    });
  // Some letters have two forms in Unicode (RFC 8265 §4.2.2). With another keyboard the user may type the other form.
  const text = passphrase.normalize('NFC');
  // Node's default limit is 32 MiB. The schema has already limited N and r; 1 MiB more covers scrypt's overhead.
  const maxmem = 128 * cost.N * cost.r + 1024 * 1024;
  const key = await scrypt(text, salt, keyLength, { ...cost, maxmem });
  try {
    return createSecretKey(key);
  } finally {
    key.fill(0);
  }
}

const boundTo = (homeId: string): string => `keyturn/1 root\n${homeId}`;
