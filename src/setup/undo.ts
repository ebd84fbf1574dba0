/**
 * Takes back what `keyturn setup` did to one file.
 *
 * Invariant: a file that nobody changed since gets its old bytes. In another one only our entries give way, each only
 * if it still says what we wrote.
 */
import { createHash } from 'node:crypto';
import { type BackedUpFile, backupsIn, openBackup, removeBackup } from './backup.ts';
import { applied, NotUnderstood } from './formats/edit.ts';
import { readConfig, replaceConfig, textOf } from './files.ts';
import type { SetupHome } from './setup-home.ts';
import { jsonFormat } from './formats/json-format.ts';
import { tomlFormat } from './formats/toml-format.ts';

export type Undone =
  | { readonly file: string; readonly outcome: 'restored' | 'unchanged' | 'gone' | 'unreadable' | 'changing' }
  /** Names of entries; `left`: they say something else by now. */
  | {
      readonly file: string;
      readonly outcome: 'entries';
      readonly reversed: readonly string[];
      readonly left: readonly string[];
    };

/** What one `undoSetup` did. */
export interface UndoneSetup {
  readonly files: readonly Undone[];
  /** Servers whose API key stays in the vault, though it may stand in a file again. */
  readonly keys: readonly string[];
}

/**
 * Puts back what every run changed, the newest first, up to one of whose files Keyturn can't follow one by now.
 * Throws `file_unreadable`, and what the broker refuses.
 */
export async function undoSetup({ stateFolder, ask }: SetupHome): Promise<UndoneSetup> {
  const files: Undone[] = [];
  const keys = new Set<string>();
  for (const file of (await backupsIn(stateFolder)).toReversed()) {
    const backup = await openBackup(file, async (sealedKey) => (await ask('backup.open', { sealedKey })).key);
    const undone: Undone[] = [];
    for (const changed of backup.files) undone.push(await undoFile(changed));
    for (const key of backup.keys) keys.add(key);
    files.push(...undone);
    const isOver = undone.every(({ outcome }) => outcome !== 'unreadable' && outcome !== 'changing');
    // An older backup says what the files were before this one.
    if (!isOver) break;
    await removeBackup(file);
  }
  return { files, keys: [...keys] };
}

export const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Throws `file_unreadable`. */
async function undoFile(backup: BackedUpFile): Promise<Undone> {
  const { file } = backup;
  const found = await readConfig(file);
  if (!found) return { file, outcome: 'gone' };
  const before = Buffer.from(backup.before, 'base64');
  if (found.bytes.equals(before)) return { file, outcome: 'unchanged' };
  if (hashOf(found.bytes) === backup.after) {
    return { file, outcome: (await replaceConfig(found, before)) ? 'restored' : 'changing' };
  }
  const text = textOf(found.bytes);
  const reversed = text === undefined ? undefined : reversal(backup, text);
  if (!reversed) return { file, outcome: 'unreadable' };
  const isDone = reversed.names.length === 0 || (await replaceConfig(found, Buffer.from(reversed.text)));
  if (!isDone) return { file, outcome: 'changing' };
  return { file, outcome: 'entries', reversed: reversed.names, left: reversed.left };
}

/** Undefined where the text isn't of its format any more. */
function reversal(
  { format, entries }: BackedUpFile,
  text: string,
): { readonly text: string; readonly names: string[]; readonly left: string[] } | undefined {
  const bom = text.startsWith('\ufeff') ? '\ufeff' : '';
  const body = text.slice(bom.length);
  try {
    const ways = entries.map(({ way }) => way.slice(0, -1));
    const places = (format === 'toml' ? tomlFormat : jsonFormat).find(body, ways);
    const sorted = entries.map((entry) => {
      const place = places.find(({ way }) => JSON.stringify(way) === JSON.stringify(entry.way));
      const isOurs = place && body.slice(place.from, place.to) === entry.after;
      return { name: entry.way.at(-1) ?? '', edit: isOurs ? { ...place, text: entry.before } : undefined };
    });
    const edits = sorted.flatMap(({ edit }) => edit ?? []);
    return {
      text: bom + applied(body, edits),
      names: sorted.flatMap(({ name, edit }) => (edit ? [name] : [])),
      left: sorted.flatMap(({ name, edit }) => (edit ? [] : [name])),
    };
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
}
