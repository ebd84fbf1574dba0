/**
 * Where a home keeps its files: worked out from the environment, without a look at the disk.
 *
 * Invariant: two folders as KEYTURN_HOME never share a file. The folder where a command happens to run decides nothing.
 * Unless KEYTURN_HOME says so, no file is in a shared temporary folder. The folders follow the XDG Base Directory
 * rules on Linux and Apple's on macOS.
 */
import { homedir } from 'node:os';
import path from 'node:path';
import { KeyturnError, quoted } from './errors.ts';

/** The folders of one home. All absolute. */
export interface HomePaths {
  /** Settings, owner.key, apps/NAME.key. */
  readonly config: string;
  /** document.json, items, audit, log. */
  readonly state: string;
  /** The socket's folder, 0700. */
  readonly run: string;
}

/** The key with which the command line acts as the owner. */
export const ownerKeyFile = ({ config }: HomePaths): string => path.join(config, 'owner.key');

/** The command that starts the app of this home, as the app noted it: a JSON list of one or two absolute paths. */
export const appCommandFile = ({ state }: HomePaths): string => path.join(state, 'desktop', 'command.json');

export type Environment = Readonly<Record<string, string | undefined>>;

/** Throws `invalid_request` for a relative KEYTURN_HOME or HOME, and if the user has no folder. */
export function homePaths(env: Environment = process.env, platform = process.platform): HomePaths {
  const moved = env['KEYTURN_HOME'];
  if (moved) {
    if (!path.isAbsolute(moved)) throw notAbsolute('KEYTURN_HOME', moved);
    const home = path.resolve(moved);
    return {
      config: path.join(home, 'config'),
      state: path.join(home, 'state'),
      run: path.join(home, 'run'),
    };
  }
  if (platform === 'darwin') {
    const base = path.join(userFolder(env), 'Library', 'Application Support', 'Keyturn');
    return { config: base, state: path.join(base, 'state'), run: path.join(base, 'run') };
  }
  if (platform === 'win32') {
    const local = absolute(env['LOCALAPPDATA']) ?? path.join(userFolder(env), 'AppData', 'Local');
    const base = path.join(local, 'Keyturn');
    return {
      config: path.join(base, 'config'),
      state: path.join(base, 'state'),
      run: path.join(base, 'run'),
    };
  }
  const state = path.join(
    absolute(env['XDG_STATE_HOME']) ?? path.join(userFolder(env), '.local', 'state'),
    'keyturn',
  );
  const runtime = absolute(env['XDG_RUNTIME_DIR']);
  return {
    config: path.join(absolute(env['XDG_CONFIG_HOME']) ?? path.join(userFolder(env), '.config'), 'keyturn'),
    state,
    run: runtime ? path.join(runtime, 'keyturn') : path.join(state, 'run'),
  };
}

/** A relative HOME would make a new home, with keys of its own, in each folder where a command runs. */
function userFolder(env: Environment): string {
  const home = env['HOME'] ?? accountFolder();
  if (home !== undefined && path.isAbsolute(home)) return home;
  throw notAbsolute('HOME', home);
}

function notAbsolute(name: 'HOME' | 'KEYTURN_HOME', value: string | undefined): KeyturnError {
  const problem = value ? `${name} is ${quoted(value)}, which is no absolute path` : `${name} is empty`;
  return new KeyturnError('invalid_request', `${problem}: Keyturn does not know where your files belong.`, {
    rule: 'a home is where HOME or KEYTURN_HOME says, never in the folder where a command happens to run',
    hint:
      name === 'HOME'
        ? 'Set HOME to your home folder, or KEYTURN_HOME to a folder for Keyturn.'
        : 'Set KEYTURN_HOME to the absolute path of a folder for Keyturn.',
  });
}

/** The user's folder as the system knows it; undefined if the system doesn't know the user, as in some containers. */
function accountFolder(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}

/** A relative path in a variable of XDG is invalid and ignored; in LOCALAPPDATA too. */
function absolute(value: string | undefined): string | undefined {
  return value && path.isAbsolute(value) ? value : undefined;
}
