/**
 * The file that `keyturn export` writes: what moves to another machine, sealed by a passphrase.
 *
 *   keyturn-export/1 {"cost":…,"salt":…,"nonce":…} CIPHERTEXT LF
 *
 * The ciphertext is AES-256-GCM, base64url, with its tag at the end, under a key that scrypt makes of the passphrase.
 *
 * Invariants: everything before the ciphertext is authenticated with it. The costs of scrypt in a file are checked before
 * scrypt runs, because anybody may have written it. No message holds the passphrase or a piece of the content.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { KeyturnError } from '../../base/errors.ts';
import { parcelSchema } from '../../broker/moving/parcel.ts';
import type { Parcel } from '../../broker/moving/parcel.ts';
import { maxLength } from '../../ipc/wire/limits.ts';
import { scryptCostSchema } from '../../vault/sealed/sealed-header.ts';
import type { ScryptCost } from '../../vault/sealed/sealed-header.ts';
import { defaultCost, keyFromPassphrase } from '../../vault/sealed/sealed-key.ts';

const format = 'keyturn-export/';
const version = `${format}1 `;

/** Bytes of AES-GCM's nonce and tag (NIST SP 800-38D §5.2.1). Each file has a key of its own, by its salt. */
const nonceLength = 12;
const tagLength = 16;

const headerSchema = z.strictObject({
  cost: scryptCostSchema,
  salt: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  nonce: z.string().regex(/^[A-Za-z0-9_-]{16}$/),
});

/** Throws `invalid_request` for more than the socket carries. `cost`: for tests. */
export async function sealParcel(
  parcel: Parcel,
  passphrase: string,
  cost: ScryptCost = defaultCost,
): Promise<string> {
  const salt = randomBytes(32);
  const nonce = randomBytes(nonceLength);
  const header = { cost, salt: salt.toString('base64url'), nonce: nonce.toString('base64url') };
  const opening = `${version}${JSON.stringify(header)}`;
  const key = await keyFromPassphrase(passphrase, cost, salt);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(opening));
  const sealed = Buffer.concat([cipher.update(JSON.stringify(parcel)), cipher.final(), cipher.getAuthTag()]);
  const text = `${opening} ${sealed.toString('base64url')}\n`;
  if (text.length <= maxLength.export) return text;
  throw new KeyturnError(
    'invalid_request',
    `There are too many grants for one export: ${parcel.grants.length}.`,
    {
      rule: `An export has at most ${maxLength.export} characters`,
      hint: 'Nothing was exported. End grants that you no longer need (`keyturn revoke`), and export again.',
    },
  );
}

/** Throws `locked` for a wrong passphrase, `file_unreadable` for what is no export or of another version. */
export async function openParcel(text: string, passphrase: string): Promise<Parcel> {
  if (!text.startsWith(format)) throw unreadable('it does not begin as an export does');
  if (!text.startsWith(version)) throw unreadable('it is of another version');
  const [opening = '', sealedText = '', ...rest] = splitOf(text.trimEnd());
  const header = headerSchema.safeParse(json(opening.slice(version.length)));
  if (!header.success || rest.length > 0) throw unreadable('its header is damaged');
  const { cost, salt, nonce } = header.data;
  const sealed = Buffer.from(sealedText, 'base64url');
  if (sealed.length <= tagLength) throw unreadable('it is cut');
  const key = await keyFromPassphrase(passphrase, cost, Buffer.from(salt, 'base64url'));
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
    authTagLength: tagLength,
  });
  decipher.setAAD(Buffer.from(opening)).setAuthTag(sealed.subarray(-tagLength));
  let opened: string;
  try {
    opened = Buffer.concat([decipher.update(sealed.subarray(0, -tagLength)), decipher.final()]).toString(
      'utf8',
    );
  } catch {
    throw wrongPassphrase();
  }
  const parcel = parcelSchema.safeParse(json(opened));
  if (parcel.success) return parcel.data;
  throw unreadable('its content has an unknown shape');
}

/** The header holds no space, so the second one ends it. */
function splitOf(text: string): string[] {
  const [word = '', header = '', ...rest] = text.split(' ');
  return [`${word} ${header}`, ...rest];
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function wrongPassphrase(): KeyturnError {
  return new KeyturnError('locked', 'This passphrase does not open the export, or the file was changed.', {
    rule: 'An export opens with the passphrase that it was sealed with, and only as it was written',
    hint: 'Try the passphrase again. If it is lost: keyturn export --cancel on the machine that exported.',
  });
}

function unreadable(what: string): KeyturnError {
  return new KeyturnError('file_unreadable', `The export can't be read: ${what}.`, {
    hint: 'Give the file that `keyturn export` wrote, whole. A newer version needs a newer Keyturn.',
  });
}
