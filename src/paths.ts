/**
 * Where a home keeps its files. One function of the environment; touches no disk.
 *
 * Invariant: two values of KEYTURN_HOME never share a file, and nothing lies in a shared temporary
 * folder. Follows the XDG Base Directory rules on Linux, Apple's folders on macOS.
 */
import { homedir } from 'node:os';
import path from 'node:path';

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
  const home = env['HOME'] || homedir();
  if (platform === 'darwin') {
    const base = path.join(home, 'Library', 'Application Support', 'Keyturn');
    return { config: base, state: path.join(base, 'state'), run: path.join(base, 'run') };
  }
  if (platform === 'win32') {
    const base = path.join(env['LOCALAPPDATA'] || path.join(home, 'AppData', 'Local'), 'Keyturn');
    return {
      config: path.join(base, 'config'),
      state: path.join(base, 'state'),
      run: path.join(base, 'run'),
    };
  }
  const state = path.join(absolute(env['XDG_STATE_HOME']) ?? path.join(home, '.local', 'state'), 'keyturn');
  const runtime = absolute(env['XDG_RUNTIME_DIR']);
  return {
    config: path.join(absolute(env['XDG_CONFIG_HOME']) ?? path.join(home, '.config'), 'keyturn'),
    state,
    run: runtime ? path.join(runtime, 'keyturn') : path.join(state, 'run'),
  };
}

/** XDG: a relative path in these variables is invalid and ignored. */
function absolute(value: string | undefined): string | undefined {
  return value && path.isAbsolute(value) ? value : undefined;
}
