/**
 * Where a home keeps its files. One function of the environment; touches no disk.
 *
 * Invariant: two values of KEYTURN_HOME never share a file, and nothing lies in a shared temporary
 * folder, nor in whichever folder a command happens to run. Follows the XDG Base Directory rules on Linux,
 * Apple's folders on macOS.
 */
import { homedir } from 'node:os';
import path from 'node:path';
import { KeyturnError, quoted } from './errors.ts';

/** The folders of one home. All absolute. */
export interface HomePaths {
  /** Settings, owner.key, clients/NAME.key. */
  readonly config: string;
  /** home.json, grants, permissions, registrations, audit, log. */
  readonly state: string;
  /** The socket's folder, 0700. */
  readonly run: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws `invalid_request` where the environment names no home folder that it could be. */
export function homePaths(env: Environment = process.env, platform = process.platform): HomePaths {
  const moved = env['KEYTURN_HOME'];
  if (moved) {
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
    const base = path.join(env['LOCALAPPDATA'] || path.join(userFolder(env), 'AppData', 'Local'), 'Keyturn');
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

/** A relative one would make a new home, with a key of its own, in each folder that a command runs in. */
function userFolder(env: Environment): string {
  const home = env['HOME'] ?? accountFolder();
  if (home !== undefined && path.isAbsolute(home)) return home;
  const problem = home ? `HOME is ${quoted(home)}, which is no absolute path` : 'HOME is empty';
  throw new KeyturnError('invalid_request', `${problem}: Keyturn does not know where your files belong.`, {
    rule: "a home is in the user's own folder, never in the folder where a command happens to run",
    hint: 'Set HOME to your home folder, or KEYTURN_HOME to a folder for Keyturn.',
  });
}

/** As the system notes it for the user; undefined where it knows no such user, as in some containers. */
function accountFolder(): string | undefined {
  try {
    return homedir();
  } catch {
    return undefined;
  }
}

/** XDG: a relative path in these variables is invalid and ignored. */
function absolute(value: string | undefined): string | undefined {
  return value && path.isAbsolute(value) ? value : undefined;
}
