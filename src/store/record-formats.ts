/**
 * The formats of a home's files, and the reading of their JSON.
 *
 * Invariant: a file of another format is refused by name, with what the user can do, and never rewritten.
 */
import { z } from 'zod';
import { quoted } from '../base/errors.ts';
import { unreadableFile } from '../base/private/private-file.ts';

export const formats = { document: 1, settings: 1 } as const;

const versionSchema = z.object({ version: z.int() });

/** Throws `file_unreadable` if `value`, the file's JSON, names another format than `known`. */
export function refuseOtherFormat(file: string, value: unknown, known: number): void {
  const named = versionSchema.safeParse(value);
  if (!named.success || named.data.version === known) return;
  throw unreadableFile(
    file,
    `its format is ${named.data.version}, and this Keyturn knows ${known}`,
    'Keyturn left it as it is. If a newer Keyturn wrote it, use that one; else move the file away to start without it.',
  );
}

/** Parses JSON. Throws `file_unreadable` instead of the parser's own error, which repeats a piece of the text. */
export function jsonOf(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadableFile(file, 'it is not JSON');
  }
}

/** `value`, checked against the schema. Throws `file_unreadable`, which names the place and repeats no value. */
export function shaped<T>(file: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw unreadableFile(
    file,
    `${quoted(issue?.path.join('.') ?? '')}: ${issue?.message ?? 'it has an unknown shape'}`,
  );
}
