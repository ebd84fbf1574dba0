/**
 * The files of a home, and their end.
 *
 * Invariant: only what Keyturn made is removed, by its name (of the app's windows, their folder); a folder goes only once it is empty, and no
 * symbolic link is followed. owner.key and settings.json go last: until then another `keyturn reset` finds
 * the same home with the same vault, and finishes what a crash cut short.
 */
import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { readAppKeyFile } from '../../client/app-key-file.ts';
import { type HomePaths, ownerKeyFile } from '../../base/paths.ts';
import { draftedFile } from '../../base/private/private-file.ts';
import { checkFolder } from '../../base/private/private-folder.ts';
import { removeStale } from '../../ipc/wire/socket.ts';
import { recordedSocket } from '../../ipc/wire/socket-path.ts';

/** Before the files that name the home and its vault. */
const stateNames = [
  /^document\.json$/,
  /^setup-\d+\.sealed$/,
  /^broker\.path$/,
  /^audit(?:-\d+)?\.jsonl$/,
  /^broker\.log(?:\.\d)?$/,
];
const runNames = [/^broker\.path$/];
const lastNames = [/^owner\.key$/, /^settings\.json$/];

/** True where a broker has been: there is something to reset. */
export function isHome(paths: HomePaths): boolean {
  return [ownerKeyFile(paths), path.join(paths.state, 'document.json')].some((file) => existsSync(file));
}

/**
 * Removes them. The caller holds the home's lock, and no other broker runs. `kept`: files that stay.
 * `unlock` gives the lock back.
 * Returns every file, and every folder of somebody else's, that is still there. Throws `socket_unsafe` if one of the
 * three folders is a link: nothing is removed.
 */
export function removeHomeFiles(
  paths: HomePaths,
  kept: readonly string[],
  unlock: () => void = () => undefined,
): string[] {
  for (const folder of [paths.config, paths.state, paths.run])
    if (existsSync(folder) && !isFolder(folder)) checkFolder(folder);
  const removeNamed = (folder: string, names: readonly RegExp[]): void => {
    for (const file of filesIn(folder)) {
      const name = path.basename(file);
      const isOurs = names.some((one) => one.test(name) || one.test(draftedFile(name) ?? ''));
      if (isOurs && !kept.includes(file)) unlinkSync(file);
    }
  };
  const apps = path.join(paths.config, 'apps');
  const forwards = path.join(paths.config, 'forwarded');
  const far = foldersIn(forwards);
  const farApps = far.flatMap(foldersIn).filter((folder) => path.basename(folder) === 'apps');
  const own = brokerOf(ownerKeyFile(paths));
  removeKeys(apps, (broker) => broker === own);
  // Each opens the broker of another machine.
  for (const folder of farApps) removeKeys(folder, () => true);
  for (const folder of [apps, ...farApps])
    removeNamed(folder, [/^[\w.-]{1,64}\.(?:refused|ticket|key\.[0-9a-f]{12}\.new)$/]);
  const items = path.join(paths.state, 'items');
  removeNamed(items, [/^[\w.-]+$/]);
  removeNamed(paths.state, stateNames);
  removeNamed(paths.run, runNames);
  // Electron's, of the app's windows: it names them as it likes. Its last processes may still write.
  const windows = path.join(paths.state, 'desktop');
  if (isFolder(windows)) rmSync(windows, { recursive: true, maxRetries: 5 });
  removeNamed(paths.config, lastNames);
  // Windows removes no file that is open. Elsewhere the lock is held to the end, against a broker that starts meanwhile.
  if (process.platform === 'win32') unlock();
  removeNamed(paths.state, [/^broker\.lock$/]);
  const ofApps = [apps, ...farApps, ...far, forwards, items];
  const folders = [...ofApps, paths.run, path.join(paths.state, 'run'), paths.state, paths.config];
  for (const folder of folders) if (isFolder(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
  return folders.flatMap(entriesIn).filter((entry) => !(folders.includes(entry) && isFolder(entry)));
}

/**
 * Removes what a broker that was killed left. Beside it may be another home's: only the recorded one is ours, and where
 * somebody listens there, this home is a copy.
 */
export async function removeSocket(paths: HomePaths): Promise<void> {
  // Once the broker has removed a home, what is in the run folder is another home's.
  if (!isHome(paths)) return;
  const socket = recordedSocket(paths) ?? path.join(paths.run, 'broker.sock');
  // What stays is listed.
  await removeStale(socket).catch(() => undefined);
}

/** The keys for brokers that `isOwn` accepts. What is no key stays. */
function removeKeys(folder: string, isOwn: (broker: string) => boolean): void {
  for (const file of filesIn(folder)) {
    const broker = file.endsWith('.key') ? brokerOf(file) : undefined;
    if (broker !== undefined && isOwn(broker)) unlinkSync(file);
  }
}

function brokerOf(file: string): string | undefined {
  try {
    return readAppKeyFile(file).brokerId;
  } catch {
    return undefined;
  }
}

function foldersIn(folder: string): string[] {
  return entriesIn(folder).filter(isFolder);
}

function filesIn(folder: string): string[] {
  return entriesIn(folder).filter((entry) => !isFolder(entry));
}

function entriesIn(folder: string): string[] {
  if (!isFolder(folder)) return [];
  return readdirSync(folder).map((name) => path.join(folder, name));
}

/** False for a link. */
function isFolder(folder: string): boolean {
  return lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
}
