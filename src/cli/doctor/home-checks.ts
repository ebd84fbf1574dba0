/**
 * The home as it is on the disk: folders, socket, files, room. Needs no broker.
 *
 * Invariant: nothing is written, made or fixed. What isn't there yet is fine: the first start makes it.
 */
import { accessSync, constants, existsSync, readdirSync, statfsSync } from 'node:fs';
import path from 'node:path';
import { shellWord } from '../../base/errors.ts';
import { type HomePaths, ownerKeyFile } from '../../base/paths.ts';
import { checkFolder, liesInMemory, lookAt } from '../../base/private/private-folder.ts';
import { checkPrivate } from '../../base/private/private-check.ts';
import { appKeyFile, readAppKeyFile } from '../../client/app-key-file.ts';
import { checkFiles } from '../../daemon/home/home.ts';
import {
  defaultSettings,
  fromEnvironment,
  readSettings,
  type Settings,
  settingsSchema,
} from '../../daemon/settings/settings.ts';
import { socketIdOf } from '../../ipc/wire/socket.ts';
import { findSockets, requireOwnRuntime } from '../../ipc/wire/socket-path.ts';
import { type Finding, findingOf, found, foundIf, refusalOf } from './finding.ts';

export interface HomeLook {
  readonly findings: readonly Finding[];
  /** As the file has them, or as a first start would take them. */
  readonly settings: Settings;
}

export async function checkHome(paths: HomePaths, env: NodeJS.ProcessEnv): Promise<HomeLook> {
  const { settings, findings } = recordedSettings(paths, env);
  return {
    settings,
    findings: [
      ...(await folderFindings(paths, env)),
      ...(isFolder(paths.state) && isFolder(paths.config)
        ? await refusalOf('file.unsafe', async () => checkFiles(paths))
        : []),
      ...findings,
      ...(await keyFindings(paths)),
      ...[paths.state, paths.config].flatMap(roomFindings),
    ],
  };
}

async function folderFindings(paths: HomePaths, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const kept = [paths.config, paths.state].map((folder) =>
    refusalOf('folder.unsafe', () => {
      const there = lookAt(folder);
      if (there) checkPrivate(there, folder, 'stateFolder');
    }),
  );
  return [...(await Promise.all(kept)).flat(), ...(await socketFindings(paths, env))];
}

async function socketFindings(paths: HomePaths, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const runtime = path.dirname(paths.run);
  const foreign =
    runtime === env['XDG_RUNTIME_DIR']
      ? await refusalOf('runtime.unusable', () => requireOwnRuntime(runtime))
      : [];
  let places: readonly string[];
  try {
    ({ places } = findSockets(paths, env));
  } catch (error) {
    return [findingOf('socket.unsafe', error)];
  }
  const unsafe = places.map((place) =>
    refusalOf('socket.unsafe', () => {
      if (existsSync(path.dirname(place))) checkFolder(path.dirname(place));
      if (existsSync(place)) socketIdOf(place);
    }),
  );
  return [...foreign, ...(await Promise.all(unsafe)).flat()];
}

/** Where nothing readable is recorded, the environment is what the first start would take. */
export function recordedSettings(
  paths: HomePaths,
  env: NodeJS.ProcessEnv,
): { readonly settings: Settings; readonly findings: Finding[] } {
  const { data = defaultSettings } = settingsSchema.safeParse(fromEnvironment(env));
  // Reading them where there are none would make the folder.
  if (!existsSync(path.join(paths.config, 'settings.json'))) return { settings: data, findings: [] };
  try {
    const settings = readSettings({ paths, env: {}, isNewHome: false, autoStarted: true });
    return { settings, findings: [] };
  } catch (error) {
    return { settings: data, findings: [findingOf('home.damaged', error)] };
  }
}

async function keyFindings(paths: HomePaths): Promise<Finding[]> {
  const owner = ownerKeyFile(paths);
  const ofApps = keyNames(path.join(paths.config, 'apps')).map(async (name) =>
    refusalOf('key.unusable', () => readAppKeyFile(keyFileOf(paths, name))),
  );
  return [
    ...(existsSync(owner) ? await refusalOf('file.unsafe', () => readAppKeyFile(owner)) : []),
    ...(await Promise.all(ofApps)).flat(),
  ];
}

/** None where the folder is closed to us: that was named above. */
function keyNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.key'));
  } catch {
    return [];
  }
}

/** A file that none of our programs named is looked at where it is. */
function keyFileOf(paths: HomePaths, name: string): string {
  try {
    return appKeyFile(paths, path.basename(name, '.key'));
  } catch {
    return path.join(paths.config, 'apps', name);
  }
}

/** Bytes. Below that the next write may fail: a full home takes some hundred KiB. */
const leastRoom = 1024 * 1024;
const littleRoom = 32 * leastRoom;

/** Of a folder that isn't there yet: whether it can be made. */
function roomFindings(folder: string): Finding[] {
  if (!existsSync(folder)) return makingFindings(folder);
  if (!isFolder(folder)) return [];
  const name = shellWord(folder);
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    return found(
      'disk.readOnly',
      `${folder} can't be written: Keyturn can keep nothing.`,
      `chmod u+w ${name}   (or mount its disk writable)`,
    );
  }
  const disk = statfsSync(folder);
  const { bavail, bsize } = disk;
  const room = bavail * bsize;
  return [
    ...foundIf(
      room < littleRoom,
      room < leastRoom ? 'disk.full' : 'disk.low',
      `The disk of ${folder} has ${Math.floor(room / 1024)} KiB left.`,
      'Make room; what takes it: du -xh --max-depth=2 ~ | sort -h | tail',
    ),
    ...foundIf(
      process.platform === 'linux' && liesInMemory(disk),
      'disk.volatile',
      `${folder} lies in memory (tmpfs): sign-ins and permissions are lost when this machine restarts.`,
      'Set KEYTURN_HOME (or XDG_STATE_HOME and XDG_CONFIG_HOME) to a folder on a disk.',
    ),
  ];
}

function makingFindings(folder: string, above = path.dirname(folder)): Finding[] {
  if (!existsSync(above) && above !== path.dirname(above)) return makingFindings(folder, path.dirname(above));
  try {
    accessSync(above, constants.W_OK | constants.X_OK);
    if (isFolder(above)) return [];
  } catch {
    // Told below.
  }
  return found(
    'disk.readOnly',
    `${folder} can't be made, since ${above} can't be written or is no folder: Keyturn can keep nothing.`,
    'Set KEYTURN_HOME to a folder that you may write to.',
  );
}

function isFolder(folder: string): boolean {
  try {
    return lookAt(folder)?.isDirectory() === true;
  } catch {
    return false;
  }
}
