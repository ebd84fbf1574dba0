/**
 * Takes back what `keyturn setup` did to files.
 *
 * Invariant: a file that nobody changed since gets its old bytes. In another one only our entries give way, each only
 * if its members still have the values that we wrote, however they are written by now. A backup stays until all of its
 * entries went back.
 */
import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { KeyturnError } from '../base/errors.ts';
import { type BackedUpFile, type Backup, backupsIn, openBackup, type SetupHome } from './backup.ts';
import { NotUnderstood } from './formats/edit.ts';
import { readConfig, replaceConfig, textOf } from './files.ts';
import { entryBack, type Standing } from './entry-back.ts';

export type Undone =
  | { readonly file: string; readonly outcome: 'restored' | 'unchanged' | 'gone' | 'changing' }
  | { readonly file: string; readonly outcome: 'unreadable'; readonly why?: string }
  /** Names of entries; `left`: they say something else by now. `gone`: the file has none of that name. */
  | {
      readonly file: string;
      readonly outcome: 'entries';
      readonly reversed: readonly string[];
      readonly left: readonly string[];
      readonly gone: readonly string[];
    };

/** What became of the file, in a sentence. */
export function undoneLine(undone: Undone): string {
  const { file } = undone;
  switch (undone.outcome) {
    case 'restored':
      return `${file}: as it was, byte for byte.`;
    case 'unchanged':
      return `${file}: has no entry of Keyturn’s.`;
    case 'gone':
      return `${file}: no longer exists. Its entries stay in the backup.`;
    case 'unreadable':
      return undone.why ?? `${file}: Keyturn can’t read what is written in it, so it stays as it is.`;
    case 'changing':
      return `${file}: has changed in the meantime. Try again.`;
    case 'entries': {
      const { reversed, left, gone } = undone;
      const names = reversed.join(', ') || 'none';
      const changed = left.length === 0 ? '' : ` These have changed, so they stay: ${left.join(', ')}.`;
      const missing =
        gone.length === 0 ? '' : ` These are no longer in it, and stay in the backup: ${gone.join(', ')}.`;
      return `${file}: has changed since. Keyturn restored only its own entries: ${names}.${changed}${missing}`;
    }
  }
}

/** What one `undoSetup` did. */
export interface UndoneSetup {
  readonly files: readonly Undone[];
  /** Backups that stay, since not every entry of theirs went back. */
  readonly kept: readonly string[];
  /** Servers whose API key stays in the vault, though it may be in a file again. */
  readonly keys: readonly string[];
}

type OpenedBackup = Backup & { readonly at: string };

/** The newest first. Throws `file_unreadable` for a backup that is damaged, and what the broker refuses. */
export async function openedBackups({ stateFolder, ask }: SetupHome): Promise<readonly OpenedBackup[]> {
  const opened: OpenedBackup[] = [];
  for (const at of (await backupsIn(stateFolder)).toReversed()) {
    const backup = await openBackup(at, async (sealedKey) => (await ask('backup.open', { sealedKey })).key);
    opened.push({ ...backup, at });
  }
  return opened;
}

/** Puts back what every run changed, up to one that can't be taken back whole now. */
export async function undoSetup(backups: readonly OpenedBackup[]): Promise<UndoneSetup> {
  const files: Undone[] = [];
  const keys = new Set<string>();
  for (const backup of backups) {
    const undone: Undone[] = [];
    for (const changed of backup.files) undone.push(await undoFile(changed));
    files.push(...undone);
    for (const key of backup.keys) keys.add(key);
    // An older backup says what the files were before this one.
    if (!undone.every(isOver)) return { files, kept: [backup.at], keys: [...keys] };
    await rm(backup.at, { force: true });
  }
  return { files, kept: [], keys: [...keys] };
}

function isOver(undone: Undone): boolean {
  if (undone.outcome === 'entries') return undone.left.length + undone.gone.length === 0;
  return undone.outcome === 'restored' || undone.outcome === 'unchanged';
}

export const hashOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** One file that can't be read or replaced keeps no other from going back. */
async function undoFile(backup: BackedUpFile): Promise<Undone> {
  try {
    return await takeBack(backup);
  } catch (error) {
    if (!(error instanceof KeyturnError)) throw error;
    return { file: backup.file, outcome: 'unreadable', why: error.message };
  }
}

async function takeBack(backup: BackedUpFile): Promise<Undone> {
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
  const isDone = reversed.text === text || (await replaceConfig(found, Buffer.from(reversed.text)));
  if (!isDone) return { file, outcome: 'changing' };
  return { file, outcome: 'entries', reversed: reversed.names, left: reversed.left, gone: reversed.gone };
}

/** Undefined where the text isn't of its format any more. */
function reversal(
  { format, entries }: BackedUpFile,
  text: string,
): (Record<'names' | 'left' | 'gone', string[]> & { readonly text: string }) | undefined {
  const bom = text.startsWith('\ufeff') ? '\ufeff' : '';
  let body = text.slice(bom.length);
  const names: Record<Standing, string[]> = { reversed: [], back: [], left: [], gone: [] };
  try {
    for (const entry of entries) {
      const { standing, text: next } = entryBack(format, body, entry);
      names[standing].push(entry.way.at(-1) ?? '');
      body = next;
    }
  } catch (error) {
    if (error instanceof NotUnderstood) return undefined;
    throw error;
  }
  return { text: bom + body, names: names.reversed, left: names.left, gone: names.gone };
}
