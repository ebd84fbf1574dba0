/**
 * The command that starts this app, for the login item, and for `keyturn` to offer it where the app doesn't run; and the
 * `keyturn` that the app brings along.
 *
 * Invariant: it confers nothing. `keyturn` shows it and asks before it starts it.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { replaceFile } from '../../src/base/private/private-file.ts';
import { appCommandFile, type HomePaths } from '../../src/base/paths.ts';

export interface CommandOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the app is packed: else the program is Electron itself, which gets the file to run as an argument. */
  readonly isPackaged: boolean;
  /** The program that runs. */
  readonly program?: string;
  /** The file that Electron runs where the app isn't packed. */
  readonly script?: string | undefined;
}

/** A program, and the script that it runs. */
export function commandOf({
  env,
  isPackaged,
  program = process.execPath,
  script = process.argv[1],
}: CommandOptions): readonly string[] {
  if (!isPackaged) return script === undefined ? [program] : [program, path.resolve(script)];
  return [imageOf(env, program) ?? program];
}

/**
 * The AppImage that this program lies in. Its mount goes away with it, so the image is what starts. Both names may be
 * another AppImage's, from whose terminal we were started: only that counts in which this program lies.
 */
function imageOf({ APPIMAGE: image, APPDIR: mount }: CommandOptions['env'], program: string) {
  return image !== undefined && mount !== undefined && program.startsWith(`${mount}/`) ? image : undefined;
}

/** On Windows, below the app's folder. */
const broughtFile = String.raw`resources\keyturn.exe`;

/** What ends the broker before the app's files change: the installer is made of it. */
export const endBrought = [broughtFile, 'broker', 'stop'] as const;

/** The `keyturn` in the packed app's folder of resources. Undefined in an AppImage: it would go away with the mount. */
export function broughtCommand(
  { env, isPackaged, program = process.execPath }: CommandOptions,
  resources: string = process.resourcesPath,
  platform = process.platform,
): string | undefined {
  if (!isPackaged || imageOf(env, program) !== undefined) return undefined;
  const file = path.join(resources, platform === 'win32' ? path.win32.basename(broughtFile) : 'keyturn');
  return existsSync(file) ? file : undefined;
}

/** Throws `file_unreadable`. */
export async function noteCommand(paths: HomePaths, command: readonly string[]): Promise<void> {
  await replaceFile(appCommandFile(paths), `${JSON.stringify(command)}\n`);
}
