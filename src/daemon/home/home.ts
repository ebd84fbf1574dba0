/**
 * A home: its folders, and owner.key with its id and the owner's key.
 *
 * Invariant: id and key are made once, by the broker that holds the home's lock, and a file that
 * exists but can't be read is never replaced. owner.key opens only the socket (invariant 1, dev/internals.md).
 */
import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { documentName, readPlace } from '../../store/home-document.ts';
import { homeIdSchema, type Place } from '../../store/document-text.ts';
import { jsonOf, shaped } from '../../store/record-formats.ts';
import { systemCode } from '../../base/system-error.ts';
import { prepareFolder } from '../../base/private/private-folder.ts';
import { ownerId } from '../../ipc/wire/handshake-messages.ts';
import { type HomePaths, ownerKeyFile } from '../../base/paths.ts';
import { checkFileIfAny, readPrivate, replaceFile } from '../../base/private/private-file.ts';

const ownerKeySchema = z.object({
  appId: z.literal(ownerId),
  key: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  brokerId: homeIdSchema,
});

export interface Home {
  readonly paths: HomePaths;
  /** The broker's id on the wire. */
  readonly homeId: string;
  readonly ownerKey: KeyObject;
  /** True when this start created the home. */
  readonly isNew: boolean;
  /** Where the document said at the start that it belongs, not verified. Undefined: there was none. */
  readonly document: Place | 'unreadable' | undefined;
}

/** Makes the folders (0700) that are missing; the socket's is another matter. Throws `socket_unsafe` where one isn't private. */
export function prepareFolders({ config, state }: HomePaths): void {
  for (const folder of [config, state]) prepareFolder(folder);
}

/** Windows has no modes: there rights do the same. Throws `socket_unsafe` where others may use a folder all the same. */
export async function keepOthersOut(paths: HomePaths, platform = process.platform): Promise<void> {
  if (platform !== 'win32') return;
  const { loadWindowsAccess } = await import('../../base/windows/access.ts');
  const access = await loadWindowsAccess();
  for (const folder of [paths.config, paths.state]) access.restrictFolder(folder);
}

/** Files that keep the broker from starting where others could read or change them; records check this on their own. */
const checkedInConfig = /^(settings\.json|owner\.key)$/;
const checkedInState = /^(audit(-\d+)?\.jsonl|broker\.(lock|log))$/;

/** Throws `file_unreadable` if somebody else may use one. */
export async function checkFiles(paths: HomePaths): Promise<void> {
  for (const [folder, names] of [
    [paths.config, checkedInConfig],
    [paths.state, checkedInState],
  ] as const) {
    for (const name of await readdir(folder)) {
      if (names.test(name)) await checkFileIfAny(path.join(folder, name));
    }
  }
}

/** What can't be looked at may be there. */
const exists = async (file: string): Promise<boolean> =>
  lstat(file).then(
    () => true,
    (error: unknown) => systemCode(error) !== 'ENOENT',
  );

/** True if this home ever had a root key: the first use of its vault makes both, the key first. */
export const documentExists = async ({ state }: Pick<HomePaths, 'state'>): Promise<boolean> =>
  exists(path.join(state, documentName));

/** True if the next `openHome` makes the home. */
export const isNewHome = async (paths: HomePaths): Promise<boolean> =>
  !((await exists(ownerKeyFile(paths))) || (await documentExists(paths)));

/** Opens or creates the home. A lost owner.key is made for the document's home. The caller holds the lock. Throws `file_unreadable`. */
export async function openHome(paths: HomePaths): Promise<Home> {
  const isNew = await isNewHome(paths);
  const existing = await readOwner(paths);
  const document = await readPlace(paths.state).catch((error: unknown) => {
    if (existing) return 'unreadable' as const;
    throw error;
  });
  const owner = existing ?? (await newOwner(paths, typeof document === 'object' ? document.home : undefined));
  return {
    paths,
    homeId: owner.brokerId,
    ownerKey: createSecretKey(owner.key, 'base64url'),
    isNew,
    document,
  };
}

type Owner = z.infer<typeof ownerKeySchema>;

async function newOwner(paths: HomePaths, homeId = randomBytes(16).toString('base64url')): Promise<Owner> {
  const owner = { appId: ownerId, key: randomBytes(32).toString('base64url'), brokerId: homeId } as const;
  await replaceFile(ownerKeyFile(paths), `${JSON.stringify(owner)}\n`);
  return owner;
}

/** Undefined if there is none. Throws `file_unreadable`. */
async function readOwner(paths: HomePaths): Promise<Owner | undefined> {
  const file = ownerKeyFile(paths);
  const bytes = await readPrivate(file);
  return bytes && shaped(file, ownerKeySchema, jsonOf(file, bytes.toString('utf8')));
}
