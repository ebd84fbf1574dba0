/**
 * A home: its folders, its id and the owner's key.
 *
 * Invariant: id and key are made once, by the broker that holds the home's lock, and a file that
 * exists but can't be read is never replaced. owner.key opens only the socket (invariant 1, dev/internals.md).
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { documentName } from '../../store/authority.ts';
import { formats, jsonOf, refuseOtherFormat, shaped } from '../../store/record-formats.ts';
import { KeyturnError } from '../../base/errors.ts';
import { prepareFolder } from '../../base/private-folder.ts';
import { ownerId } from '../../ipc/wire/handshake-messages.ts';
import type { HomePaths } from '../../base/paths.ts';
import { checkFileIfAny, readPrivate, replaceFile } from '../../base/private-file.ts';

const homeSchema = z.object({
  version: z.literal(formats.home),
  homeId: z.string().regex(/^[A-Za-z0-9_-]{22}$/),
  /** True once the root key was written to the vault: from then on its absence is an error. */
  hasRoot: z.boolean(),
  /** The vault that holds it, with its key; absent until the vault is opened. */
  vault: z.string().max(64).optional(),
});

const ownerKeySchema = z.object({
  clientId: z.literal(ownerId),
  key: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  brokerId: z.string(),
});

export interface Home {
  readonly paths: HomePaths;
  /** 16 random bytes, base64url. The broker's id on the wire. */
  readonly homeId: string;
  readonly ownerKey: KeyObject;
  /** True when this start created the home. */
  readonly isNew: boolean;
  /** True once the vault holds the root key: from then on its absence is an error. */
  readonly hasRoot: boolean;
  /** The vault that holds it, as mismatched-home.ts names it; undefined where no broker noted it yet. */
  readonly vault: string | undefined;
  /** Records that the vault holds the root key now. */
  rootWritten(): Promise<void>;
  /** Records which vault the home's secrets are in. */
  keptIn(vault: string): Promise<void>;
}

export function homeFile(paths: HomePaths): string {
  return path.join(paths.state, 'home.json');
}

export function ownerKeyFile(paths: HomePaths): string {
  return path.join(paths.config, 'owner.key');
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

/** Files that keep the broker from starting where others could read or change them; records refuse by themselves. */
const checkedInConfig = /^(settings\.json|owner\.key)$/;
const checkedInState = /^(home\.json|audit(-\d+)?\.jsonl|broker\.(lock|log))$/;

/** Throws `file_unreadable` where somebody else may use one. */
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

/** Looks at the home's own file; undefined where there is no home yet. Throws `file_unreadable`. */
export async function readHome(
  paths: HomePaths,
): Promise<{ readonly vault?: string | undefined } | undefined> {
  return readJson(homeFile(paths), homeSchema, formats.home);
}

/** Files of the builds before authority.json had everything, and before the folder items. */
const earlierFiles =
  /^((registrations|clients|permissions|overrides|proxies|keys)\.json|grants\.jsonl|vault\.sealed)$/;

/** Throws `file_unreadable` for a home of an earlier build. Nothing is changed. */
export async function refuseEarlier({ state }: Pick<HomePaths, 'state'>): Promise<void> {
  const names = await readdir(state);
  if (!names.some((name) => earlierFiles.test(name))) return;
  throw new KeyturnError('file_unreadable', `An earlier build made this home (${state}).`, {
    hint: 'Run `keyturn reset` with that build, then sign in again. Or use another KEYTURN_HOME.',
  });
}

/** Whether authority.json is there, whatever is in it. Throws `file_unreadable`. */
export async function documentExists({ state }: Pick<HomePaths, 'state'>): Promise<boolean> {
  return (await readPrivate(path.join(state, documentName))) !== undefined;
}

/** Opens or creates the home. The caller holds the lock. Throws `file_unreadable`. */
export async function openHome(paths: HomePaths): Promise<Home> {
  const file = homeFile(paths);
  const existing = await readJson(file, homeSchema, formats.home);
  const record = existing ?? {
    version: formats.home,
    homeId: randomBytes(16).toString('base64url'),
    hasRoot: false,
  };
  if (!existing) await writeJson(file, record);
  let current: z.infer<typeof homeSchema> = record;
  const change = async (changed: Partial<typeof current>): Promise<void> => {
    const next = { ...current, ...changed };
    await writeJson(file, next);
    current = next;
  };
  return {
    paths,
    homeId: record.homeId,
    ownerKey: await ownerKey(paths, record.homeId),
    isNew: !existing,
    get hasRoot() {
      return current.hasRoot;
    },
    get vault() {
      return current.vault;
    },
    rootWritten: () => change({ hasRoot: true }),
    keptIn: (vault) => change({ vault }),
  };
}

async function ownerKey(paths: HomePaths, homeId: string): Promise<KeyObject> {
  const file = ownerKeyFile(paths);
  const existing = await readJson(file, ownerKeySchema);
  if (existing) return createSecretKey(existing.key, 'base64url');
  const key = randomBytes(32).toString('base64url');
  await writeJson(file, { clientId: ownerId, key, brokerId: homeId });
  return createSecretKey(key, 'base64url');
}

async function writeJson(file: string, value: unknown): Promise<void> {
  await replaceFile(file, `${JSON.stringify(value)}\n`);
}

/** `known`: the format of a file that names one. */
async function readJson<T>(file: string, schema: z.ZodType<T>, known?: number): Promise<T | undefined> {
  const bytes = await readPrivate(file);
  if (!bytes) return undefined;
  const json = jsonOf(file, bytes.toString('utf8'));
  if (known !== undefined) refuseOtherFormat(file, json, known);
  return shaped(file, schema, json);
}
