/**
 * The command that the entry of a client starts, and the variables that it needs.
 *
 * Invariant: paths are absolute, since a program with a window may have another PATH than a terminal. Where a path has
 * a version in it, a name of the same file that stays takes its place. No value holds a secret.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Environment } from '../base/paths.ts';

export interface OwnCommand {
  /** The first one is an absolute path. */
  readonly words: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Most clients pass only a few variables to what they start. Proxy and certificate authorities are the broker's: a
 * terminal's own would count before them.
 */
export function neededVariables(env: Environment): Record<string, string> {
  const { KEYTURN_HOME: home, KEYTURN_SOCKET: socket } = env;
  return {
    ...(home ? { KEYTURN_HOME: path.resolve(home) } : {}),
    ...(socket ? { KEYTURN_SOCKET: socket } : {}),
  };
}

/**
 * The `keyturn` that is installed for this user, for the app, which is another program; else the one that the app
 * brings along. Undefined where there is none. A script is started by an absolute path of Node, which the client may not
 * find either.
 */
export function installedCommand(env: Environment, home: string, brought?: string): OwnCommand | undefined {
  const folders = programFolders({ HOME: home, ...env });
  const found = programIn(folders, 'keyturn') ?? brought;
  if (found === undefined) return undefined;
  // The app is a broker of this machine.
  const needed = neededVariables({ ...env, KEYTURN_SOCKET: undefined });
  if (path.extname(realpathSync(found)) !== '.js') return { words: [found], env: needed };
  const node = programIn(folders, 'node');
  if (node === undefined) return undefined;
  return { words: [node, stablePath(realpathSync(found), 'keyturn', env)], env: needed };
}

/** Those of PATH, and the usual ones: a session of a desktop has a shorter PATH than a terminal. */
function programFolders({ PATH = '', HOME = homedir() }: Environment): readonly string[] {
  const usual = [path.join(HOME, '.local', 'bin'), '/usr/local/bin', '/opt/homebrew/bin', '/usr/bin'];
  return [...PATH.split(path.delimiter), ...usual].filter(isLasting);
}

/** npx adds folders to PATH for its own command only. */
export const isLasting = (folder: string): boolean =>
  path.isAbsolute(folder) && !folder.endsWith(path.join('node_modules', '.bin'));

function programIn(folders: readonly string[], name: string): string | undefined {
  const endings = process.platform === 'win32' ? ['', '.exe', '.cmd'] : [''];
  return folders
    .flatMap((folder) => endings.map((ending) => path.join(folder, `${name}${ending}`)))
    .find(isProgram);
}

export function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** A version in the name of a folder, a folder of Nix or Guix, of one run, of one terminal, or of npx. */
const passing =
  /[\\/](?:(?:[^\\/]*[-@_])?v?\d+\.\d+[^\\/]*|[a-z0-9]{32}-[^\\/]*|\.mount_[^\\/]*|fnm_multishells|_npx)[\\/]|^\/snap\/[^/]+\/x?\d+\//;

const isPassing = (file: string): boolean => passing.test(file);

const profiles = (home: string, user: string): string[] => [
  `${home}/.nix-profile/`,
  `${home}/.local/state/nix/profile/`,
  `/etc/profiles/per-user/${user}/`,
  '/run/current-system/sw/',
  '/nix/var/nix/profiles/default/',
];

/** Where version managers keep a link to the version in use, by where they keep the version. */
function links({ HOME: home = '', USER: user = '' }: Environment): [RegExp, string[]][] {
  return [
    [/\/Cellar\/([^/]+)\/[^/]+\//, ['/opt/$1/']],
    [/^\/nix\/store\/[^/]+\//, profiles(home, user)],
    [/^\/gnu\/store\/[^/]+\//, [`${home}/.guix-profile/`, '/run/current-system/profile/']],
    [/^\/snap\/([^/]+)\/[^/]+\//, ['/snap/$1/current/']],
    // fnm, nvm, pnpm.
    [/\/node-versions\/[^/]+\/installation\//, ['/aliases/default/']],
    [/\/versions\/node\/[^/]+\//, ['/current/']],
    [/\/\.pnpm\/[^/]+\/node_modules\//, ['/']],
    // mise, Scoop.
    [/([\\/])v?\d+\.\d+[^\\/]*([\\/])/, ['current', 'latest', 'default'].map((name) => `$1${name}$2`)],
  ];
}

/** `name`: how it may be called in a folder of PATH. */
export function stablePath(real: string, name: string, env: Environment = process.env): string {
  if (!isPassing(real)) return real;
  const inPath = (env['PATH'] ?? '')
    .split(path.delimiter)
    .filter(isLasting)
    .map((folder) => path.join(folder, name));
  const linked = links(env).flatMap(([version, names]) =>
    version.test(real) ? names.map((link) => real.replace(version, link)) : [],
  );
  return [...inPath, ...linked].find((file) => !isPassing(file) && realOf(file) === real) ?? real;
}

/** Behind links. Undefined where nothing is there. */
export function realOf(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined;
  }
}

/** What the words of an entry start. */
export interface KeyturnStart {
  readonly by: 'own' | 'other' | 'gone';
  /** The program or script that is another one, or that isn't there. */
  readonly program: string;
  /** From the name of its command on. */
  readonly behind: readonly string[];
}

/** A bare name or an absolute path: what a path from a folder leads to depends on who starts it. */
const ownName = /^(?:(?:\/|[a-z]:[\\/]).*[\\/])?keyturn(?:[-_.][\w.-]*)?$/i;
const nodeName = /^(?:(?:\/|[a-z]:[\\/]).*[\\/])?node(?:js)?(?:\.exe)?$/i;
const ownScript = /^(?:\/|[a-z]:[\\/])(?:.*[\\/])?(?:dist[\\/]cli[\\/]bin\.js|keyturn(?:\.js)?)$/i;

/**
 * Undefined for another program, whatever its arguments look like. A program is taken for a Keyturn by its name only to
 * say so, or where nothing is there any more.
 */
export function keyturnStart(words: readonly string[], own: OwnCommand): KeyturnStart | undefined {
  const isOwn = own.words.every((word, index) => isSame(word, words[index]));
  if (isOwn) return { by: 'own', program: own.words[0], behind: words.slice(own.words.length) };
  const [program = '', script = ''] = words;
  const start =
    nodeName.test(program) && ownScript.test(script)
      ? [program, script]
      : ownName.test(program)
        ? [program]
        : [];
  const behind = words.slice(start.length);
  if (start.length === 0 || behind[0] !== 'bridge') return undefined;
  const gone = start.find((word, index) => !isThere(word, index));
  if (gone !== undefined) return { by: 'gone', program: gone, behind };
  return { by: program === 'keyturn' ? 'own' : 'other', program: start.at(-1) ?? '', behind };
}

/** The same file, also by another name: it may have been written before a version manager was there. */
function isSame(word: string, found: string | undefined): boolean {
  if (word === found) return true;
  return found !== undefined && path.isAbsolute(found) && realOf(found) === (realOf(word) ?? word);
}

/** A script is only read. What a client puts together, such as `${HOME}/bin/keyturn`, can't be looked at. */
function isThere(word: string, index: number): boolean {
  if (path.isAbsolute(word))
    return index === 0 ? programIn([''], word) !== undefined : realOf(word) !== undefined;
  if (index > 0 || /[\\/$~{]/.test(word)) return true;
  return programIn(programFolders(process.env), word) !== undefined;
}
