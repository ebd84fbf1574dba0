/**
 * The command that the entry of a client starts, and the variables that it needs.
 *
 * Invariant: paths are absolute, since a program with a window may have another PATH than a terminal. No value holds a
 * secret.
 */
import { accessSync, constants, realpathSync } from 'node:fs';
import path from 'node:path';

export interface OwnCommand {
  /** The first one is an absolute path. */
  readonly words: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Most clients pass only a few variables to what they start. Proxy and certificate authorities are the broker's: a
 * terminal's own would count before them.
 */
export function neededVariables(env: Environment): Record<string, string> {
  const { KEYTURN_HOME: home } = env;
  return home ? { KEYTURN_HOME: path.resolve(home) } : {};
}

/**
 * The `keyturn` that is installed for this user, for the app, which is another program; else the one that the app
 * brings along. Undefined where there is none. A script is started by an absolute path of Node, which the client may not
 * find either.
 */
export function installedCommand(env: Environment, home: string, brought?: string): OwnCommand | undefined {
  // A session of a desktop has a shorter PATH than a terminal.
  const usual = [path.join(home, '.local', 'bin'), '/usr/local/bin', '/opt/homebrew/bin', '/usr/bin'];
  const folders = [...(env['PATH'] ?? '').split(path.delimiter), ...usual]
    // npx adds such folders for its own command only.
    .filter((folder) => path.isAbsolute(folder) && !folder.endsWith(path.join('node_modules', '.bin')));
  const found = programIn(folders, 'keyturn') ?? brought;
  if (found === undefined) return undefined;
  const needed = neededVariables(env);
  if (path.extname(realpathSync(found)) !== '.js') return { words: [found], env: needed };
  const node = programIn(folders, 'node');
  return node === undefined ? undefined : { words: [node, realpathSync(found)], env: needed };
}

function programIn(folders: readonly string[], name: string): string | undefined {
  return folders.map((folder) => path.join(folder, name)).find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
