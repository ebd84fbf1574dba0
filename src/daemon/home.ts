/**
 * A home: its folders, its id and the owner's key.
 *
 * Invariant: id and key are made once, by the broker that holds the home's lock, and a file that
 * exists but can't be read is never replaced. owner.key opens only the socket (DESIGN, invariant 1).
 */
import { createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import writeFileAtomic from 'write-file-atomic';
import { z } from 'zod';
import { KeyturnError } from '../errors.ts';
import { prepareFolder } from '../ipc/endpoint.ts';
import { ownerId } from '../ipc/wire.ts';
import type { HomePaths } from '../paths.ts';

const homeSchema = z.object({
  version: z.literal(1),
  homeId: z.string().regex(/^[A-Za-z0-9_-]{22}$/),
  /** True once the master secret was written to the vault: from then on its absence is an error. */
  hasMaster: z.boolean(),
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
  /** True once the vault holds the master secret: from then on its absence is an error. */
  readonly hasMaster: boolean;
  /** Records that the vault holds the master secret now. */
  masterWritten(): Promise<void>;
}

export function homeFile(paths: HomePaths): string {
  return path.join(paths.state, 'home.json');
}

export function ownerKeyFile(paths: HomePaths): string {
  return path.join(paths.config, 'owner.key');
}

/** Makes the folders (0700) that are missing. Throws `socket_unsafe` where one isn't private. */
export function prepareFolders(paths: HomePaths): void {
  for (const folder of [paths.config, paths.state, paths.run]) prepareFolder(folder);
}

/** Opens or creates the home. The caller holds the lock. Throws `file_unreadable`. */
export async function openHome(paths: HomePaths): Promise<Home> {
  const file = homeFile(paths);
  const existing = await readJson(file, homeSchema);
  const record = existing ?? {
    version: 1 as const,
    homeId: randomBytes(16).toString('base64url'),
    hasMaster: false,
  };
  if (!existing) await writeJson(file, record);
  let { hasMaster } = record;
  return {
    paths,
    homeId: record.homeId,
    ownerKey: await ownerKey(paths, record.homeId),
    isNew: !existing,
    get hasMaster() {
      return hasMaster;
    },
    masterWritten: async () => {
      await writeJson(file, { ...record, hasMaster: true });
      hasMaster = true;
    },
  };
}

async function ownerKey(paths: HomePaths, homeId: string): Promise<KeyObject> {
  const file = ownerKeyFile(paths);
  const existing = await readJson(file, ownerKeySchema);
  if (existing) {
    await checkMode(file);
    return createSecretKey(existing.key, 'base64url');
  }
  const key = randomBytes(32).toString('base64url');
  await writeJson(file, { clientId: ownerId, key, brokerId: homeId });
  return createSecretKey(key, 'base64url');
}

async function checkMode(file: string): Promise<void> {
  if (process.platform === 'win32') return;
  const { mode, uid } = await stat(file);
  if ((mode & 0o077) === 0 && uid === process.getuid?.()) return;
  throw new KeyturnError('socket_unsafe', `${file} can be read by others.`, {
    rule: 'owner.key is yours alone (0600)',
    hint: `If nobody else was there: chmod 600 ${file}. Else remove it and start the broker again.`,
  });
}

async function writeJson(file: string, value: unknown): Promise<void> {
  await writeFileAtomic(file, `${JSON.stringify(value)}\n`, { mode: 0o600 });
}

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw unreadable(file, 'it could not be opened');
  }
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
  } catch {
    throw unreadable(file, 'it is not JSON');
  }
  throw unreadable(file, 'it has an unknown shape');
}

function unreadable(file: string, what: string): KeyturnError {
  return new KeyturnError('file_unreadable', `${file} can't be read: ${what}.`, {
    hint: 'Keyturn left it as it is. Restore it from a backup, or move it away.',
  });
}
