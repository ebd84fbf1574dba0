/**
 * The formats of a home's files, and how older ones are read: the one place where migrations live.
 *
 * Invariants: a file of a newer format is refused by name and never rewritten. An older file goes only
 * when its successor is durable.
 *
 *   grants.json 1            all grants as one JSON text  → grants.jsonl 2, read here once
 *   registrations, clients,
 *   permissions, overrides 1 without a MAC                → 3, by authority.ts, where the vault allows it
 *                          2 without an edition           → 3, with the next change; it is of epoch 0
 *   home.json, settings.json 1 is the first; settings of 0.1 name no format and are of format 1
 */
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { quoted } from '../base/errors.ts';
import { readPrivate, syncFolder, unreadableFile } from '../base/private-file.ts';

export const formats = { authority: 3, grants: 2, home: 1, settings: 1 } as const;

/** The files of authority, by their names without `.json`. */
export const authorityFiles = ['registrations', 'clients', 'permissions', 'overrides'] as const;

const versionSchema = z.object({ version: z.int() });

/** Throws `file_unreadable` where `value`, the file's JSON, names a format beyond `known`. */
export function refuseNewer(file: string, value: unknown, known: number): void {
  const named = versionSchema.safeParse(value);
  if (!named.success || named.data.version <= known) return;
  throw unreadableFile(
    file,
    `a newer Keyturn wrote it (format ${named.data.version}; this one knows ${known})`,
    'Keyturn left it as it is. Use the newer Keyturn, or move the file away to start without it.',
  );
}

/** The JSON of a text. Throws `file_unreadable`; the parser's own error would repeat a piece of it. */
export function jsonOf(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadableFile(file, 'it is not JSON');
  }
}

/** `value` by the schema. Throws `file_unreadable`, which names the place and repeats nothing. */
export function shaped<T>(file: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw unreadableFile(
    file,
    `${quoted(issue?.path.join('.') ?? '')}: ${issue?.message ?? 'it has an unknown shape'}`,
  );
}

/** How every record file looked in format 1. */
export const firstForm = z.object({ version: z.literal(1), items: z.array(z.unknown()) });

/** How a file of authority looked in format 2. `mac`: HMAC-SHA256, base64url. */
export const secondForm = z.object({
  version: z.literal(2),
  items: z.array(z.unknown()),
  mac: z.string(),
});

/** Where the records of a log (`NAME.jsonl`) lay in format 1. */
export const firstFormOf = (log: string): string =>
  path.join(path.dirname(log), `${path.basename(log, '.jsonl')}.json`);

/** The records of a file of format 1; undefined where there is none. Throws `file_unreadable`. */
export async function readFirstForm<Item>(
  file: string,
  schema: z.ZodType<Item>,
): Promise<Item[] | undefined> {
  const bytes = await readPrivate(file);
  if (!bytes) return undefined;
  const { items } = shaped(file, firstForm, jsonOf(file, bytes.toString('utf8')));
  return items.map((item) => shaped(file, schema, item));
}

/** Its successor is durable. */
export async function removeFirstForm(file: string): Promise<void> {
  await rm(file, { force: true });
  await syncFolder(path.dirname(file));
}
