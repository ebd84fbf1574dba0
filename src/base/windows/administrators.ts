/**
 * Files on Windows that only administrators can change: where they lie, and whether that is so. The other systems have
 * root and modes for it.
 *
 * Invariants: a right that isn't understood counts as one that changes. Nothing here reads the environment, which
 * belongs to the user.
 */
import { lstatSync } from 'node:fs';
import { loadSecurity } from './security.ts';

/** The system, the administrators' group, and the owner of what Windows itself installs; as SDDL names them, too. */
const trusted = new Set([
  'SY',
  'S-1-5-18',
  'BA',
  'S-1-5-32-544',
  'S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464',
]);

/** In entries: whoever owns the file, which is one of those above; and the owner of what will be made in a folder. */
const owners = new Set(['OW', 'CO']);

/** <sddl.h>, <winnt.h>: rights of two letters. */
const letters: Readonly<Record<string, number>> = {
  CC: 0x1,
  DC: 0x2,
  LC: 0x4,
  SW: 0x8,
  RP: 0x10,
  WP: 0x20,
  DT: 0x40,
  LO: 0x80,
  CR: 0x100,
  SD: 0x1_0000,
  RC: 0x2_0000,
  WD: 0x4_0000,
  WO: 0x8_0000,
  FR: 0x12_0089,
  FX: 0x12_00a0,
  FW: 0x12_0116,
  FA: 0x1f_01ff,
  GX: 0x2000_0000,
  GR: 0x8000_0000,
};

const all = 0xffff_ffff;

/** FILE_READ_DATA, FILE_READ_EA, FILE_EXECUTE, FILE_READ_ATTRIBUTES, READ_CONTROL, SYNCHRONIZE, GENERIC_EXECUTE, GENERIC_READ. */
const reading = 0xa012_00a9;

/** FILE_WRITE_DATA, FILE_APPEND_DATA, FILE_WRITE_EA, FILE_WRITE_ATTRIBUTES: in a folder they add files, and replace none. */
const adding = 0x116;

/** Undefined where only administrators can change it, or replace it; else why not. `rights`: a DACL in SDDL. */
export function changeableBy(
  owner: string | undefined,
  rights: string | undefined,
  kind: 'file' | 'folder',
): string | undefined {
  if (owner === undefined || rights === undefined) return 'Windows does not tell who can change it';
  if (!trusted.has(owner)) return `it belongs to ${owner}`;
  // Flags, then entries in brackets, or the words that stand for a file that is open to all.
  const [, entries] = /^D:(?:P|AR|AI)*((?:\([^()]*\))*)$/.exec(rights) ?? [];
  if (entries === undefined) return 'its rights are not understood';
  const harmless = kind === 'file' ? reading : reading | adding;
  for (const [, entry = ''] of entries.matchAll(/\(([^()]*)\)/g)) {
    const [type, flags = '', given = '', , , who = ''] = entry.split(';');
    // Flags have two letters each. This one: the entry is for what will be made in the folder, and not for the folder.
    const isForLater = /^(?:..)*IO/.test(flags);
    if (type === 'D' || isForLater || trusted.has(who) || owners.has(who)) continue;
    if (type !== 'A' || (maskOf(given) & ~harmless) !== 0) return `${who} can change it`;
  }
  return undefined;
}

function maskOf(rights: string): number {
  if (/^0x[\da-f]{1,8}$/i.test(rights)) return Number(rights);
  if (rights.length % 2 !== 0) return all;
  return (rights.match(/../g) ?? []).reduce((mask, two) => mask | (letters[two] ?? all), 0);
}

/** <shlobj.h>: `C:\ProgramData`, where it wasn't moved. */
const CSIDL_COMMON_APPDATA = 0x23;

/** <minwindef.h>, in characters of two bytes. */
const MAX_PATH = 260;

export interface AdministratorsFiles {
  /** The folder for the data of all users. */
  readonly folder: string;
  /** As `changeableBy`, of what lies there; a link is refused. Throws what the system refuses. */
  problemOf(name: string, kind: 'file' | 'folder'): string | undefined;
}

export async function loadAdministratorsFiles(): Promise<AdministratorsFiles> {
  const { default: koffi } = await import('koffi');
  const security = await loadSecurity();
  const folderPath = koffi
    .load('shell32.dll')
    .func('int32 __stdcall SHGetFolderPathW(void *window, int kind, void *token, uint32 flags, void *path)');
  const text = Buffer.alloc(MAX_PATH * 2);
  if (folderPath(null, CSIDL_COMMON_APPDATA, null, 0, text) !== 0) throw new Error('SHGetFolderPathW failed');
  return {
    folder: text.toString('utf16le').replace(/\0.*$/s, ''),
    problemOf: (name, kind) =>
      lstatSync(name).isSymbolicLink()
        ? 'it is a link'
        : changeableBy(security.ownerOf(name), security.rightsOf(name), kind),
  };
}
