/**
 * Who can change a file or put another in its place, by its modes and those of the folders above it (Unix).
 *
 * Invariant: what can't be looked at counts as changeable by everybody.
 */
import { statSync } from 'node:fs';
import path from 'node:path';

/** Who can change or replace the file, besides the administrator: each more easily than the one before. */
export type Changer = 'you' | 'group' | 'others';

const allChangers = ['you', 'group', 'others'] as const;

/** Who may write the file or a folder above it, besides root. A folder with the sticky bit lets nobody replace what isn't theirs. */
export function changerOf(file: string): Changer | undefined {
  const changers = [file, ...foldersAbove(file)].flatMap((place) => changersOf(place));
  return allChangers.toReversed().find((changer) => changers.includes(changer));
}

function foldersAbove(file: string): string[] {
  const folder = path.posix.dirname(file);
  return folder === file ? [] : [folder, ...foldersAbove(folder)];
}

const sticky = 0o1000;

function changersOf(place: string): readonly Changer[] {
  try {
    const { uid, gid, mode } = statSync(place);
    const own = process.getuid?.();
    const owner: readonly Changer[] = uid === 0 ? [] : uid === own ? ['you'] : ['others'];
    if ((mode & sticky) !== 0) return owner;
    const group: readonly Changer[] = (mode & 0o020) !== 0 && gid !== 0 ? ['group'] : [];
    return [...owner, ...group, ...((mode & 0o002) === 0 ? [] : (['others'] as const))];
  } catch {
    // A file or folder that can't be read doesn't count as safe.
    return ['others'];
  }
}
