/**
 * What the files said before `keyturn setup` changed them, sealed in a file of the home.
 *
 * Invariants: a backup is on disk before the first file is changed. It is AES-256-GCM under a key that only the
 * broker's vault can give back; names of files are sealed too. Each run has a number of its own, and a later run has a
 * higher one. A backup has its number only once it is whole.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { KeyturnError } from '../base/errors.ts';
import { makeFileAtOnce, readPrivate, unwritableFile } from '../base/private/private-file.ts';
import type { methods, ParamsOf } from '../ipc/protocol/methods.ts';
import { systemCode } from '../base/system-error.ts';

/** One request to the broker as its owner. Its answer has passed the method's schema. */
export type AskOwner = <
  M extends 'backup.seal' | 'backup.open' | 'apiKey.list' | 'apiKey.compare' | 'apiKey.set',
>(
  method: M,
  params: ParamsOf<M>,
) => Promise<z.output<(typeof methods)[M]['result']>>;

/** What setting up needs of the home: its folder, for the backups, and the broker, for keys and secrets. */
export interface SetupHome {
  /** Absolute. */
  readonly stateFolder: string;
  readonly ask: AskOwner;
}

const kept = z.object({
  /** Servers whose API key moved into the vault. */
  keys: z.array(z.string()),
  files: z.array(
    z.object({
      file: z.string(),
      /** The file before, base64. */
      before: z.string(),
      /** SHA-256 of the file as it was written, hex. */
      after: z.string(),
      format: z.literal(['json', 'toml']),
      /** Of each entry: its key path (`way`), and its text before and after. */
      entries: z.array(z.object({ way: z.array(z.string()), before: z.string(), after: z.string() })),
    }),
  ),
});
export type Backup = z.output<typeof kept>;
export type BackedUpFile = Backup['files'][number];

const sealedSchema = z.object({
  version: z.literal(1),
  sealedKey: z.string(),
  nonce: z.string(),
  sealed: z.string(),
});

const nonceLength = 12;
const tagLength = 16;
const pattern = /^setup-(\d{1,15})\.sealed$/;
const maxNumber = 999_999_999_999_999;

/** Oldest first. */
export async function backupsIn(stateFolder: string): Promise<readonly string[]> {
  const names = await readdir(stateFolder).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return [];
    throw error;
  });
  const numbered = names.flatMap((name) => {
    const number = pattern.exec(name)?.[1];
    return number === undefined ? [] : [{ name, number: Number(number) }];
  });
  return numbered.toSorted((a, b) => a.number - b.number).map(({ name }) => path.join(stateFolder, name));
}

/** Answers its file. `key` and `sealedKey` as the broker gave them. Throws `file_unreadable`. */
export async function keepBackup(
  stateFolder: string,
  backup: Backup,
  { key, sealedKey }: { readonly key: string; readonly sealedKey: string },
): Promise<string> {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'base64url'), nonce);
  const bytes = Buffer.concat([cipher.update(JSON.stringify(backup)), cipher.final(), cipher.getAuthTag()]);
  const sealed = { version: 1, sealedKey, nonce: nonce.toString('base64'), sealed: bytes.toString('base64') };
  return withNumber(JSON.stringify(sealed), stateFolder);
}

/** Writes it under the next number. Another run may take a number at the same moment. */
async function withNumber(content: string, stateFolder: string): Promise<string> {
  const last = (await backupsIn(stateFolder)).at(-1);
  const lastNumber = last === undefined ? 0 : Number(pattern.exec(path.basename(last))?.[1]);
  if (last !== undefined && lastNumber >= maxNumber)
    throw new KeyturnError('file_unreadable', `${last} leaves no number for the next backup.`, {
      rule: 'A later backup has a higher number',
      hint: 'No run of `keyturn setup` wrote it: move it away, then run the command again. Nothing was changed.',
    });
  const file = path.join(stateFolder, `setup-${lastNumber + 1}.sealed`);
  try {
    if (makeFileAtOnce(file, content)) return file;
  } catch (error) {
    throw unwritableFile(file, error);
  }
  return withNumber(content, stateFolder);
}

/** `ask` asks the broker for the key. Throws `file_unreadable` for a file that another program changed. */
export async function openBackup(file: string, ask: (sealedKey: string) => Promise<string>): Promise<Backup> {
  const sealed = sealedIn(await readPrivate(file), file);
  const key = Buffer.from(await ask(sealed.sealedKey), 'base64url');
  const bytes = Buffer.from(sealed.sealed, 'base64');
  try {
    const nonce = Buffer.from(sealed.nonce, 'base64');
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength });
    decipher.setAuthTag(bytes.subarray(-tagLength));
    const text = Buffer.concat([decipher.update(bytes.subarray(0, -tagLength)), decipher.final()]);
    return kept.parse(JSON.parse(text.toString('utf8')));
  } catch {
    throw damaged(file);
  }
}

function sealedIn(bytes: Buffer | undefined, file: string): z.output<typeof sealedSchema> {
  try {
    return sealedSchema.parse(JSON.parse(bytes?.toString('utf8') ?? ''));
  } catch {
    throw damaged(file);
  }
}

function damaged(file: string): KeyturnError {
  return new KeyturnError('file_unreadable', `${file} is no whole backup of keyturn setup.`, {
    rule: 'A backup counts only as it was sealed',
    hint: 'It was left as it is. Restore it, or change the entries back by hand; if no run of `keyturn setup` wrote it, move it away.',
  });
}
