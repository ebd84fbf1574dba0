/**
 * Private files, sockets and folders, which only their user may read and write: checks owner, mode and kind.
 *
 * Invariant: nothing is repaired silently, because a wrong mode means that somebody else may have been there.
 */
import type { BigIntStats } from 'node:fs';
import { KeyturnError, quoted, shellWord, type Reason } from '../errors.ts';

interface Kind {
  readonly is: (found: BigIntStats) => boolean;
  readonly name: string;
  readonly isSafe: (mode: number) => boolean;
  /** The mode that a refusal suggests. */
  readonly mode: number;
  readonly reason: Reason;
  readonly rule: string;
  /** What to do where it belongs to somebody else; of a home unless given. */
  readonly elsewhere?: string;
}

/** The rule that a refusal of the socket or its folder names. */
export const socketRule = 'Keyturn wire protocol: folder 0700, socket 0600, both yours, no symbolic links';

const folderKind = {
  is: (found: BigIntStats) => found.isDirectory(),
  name: 'a folder',
  mode: 0o700,
} as const;

const kinds = {
  socketFolder: {
    ...folderKind,
    isSafe: (mode) => mode === 0o700,
    reason: 'socket_unsafe',
    rule: socketRule,
  },
  // A folder that its owner made read-only is private as well.
  stateFolder: {
    ...folderKind,
    isSafe: (mode) => (mode & 0o077) === 0,
    reason: 'file_unreadable',
    rule: 'the folder of the home’s files is yours alone (0700), and no symbolic link',
  },
  // Others may read it: clients need the authority in it, and what is secret there has a mode of its own.
  trialFolder: {
    ...folderKind,
    isSafe: (mode) => (mode & 0o022) === 0,
    reason: 'file_unreadable',
    rule: 'the folder of `keyturn dev-server` is yours, nobody else may write there, and it is no symbolic link',
    elsewhere: 'name a folder of your own as `folder` in the configuration (docs/servers/dev-server.md)',
  },
  socket: {
    is: (found) => found.isSocket(),
    name: 'a socket',
    isSafe: (mode) => mode === 0o600,
    mode: 0o600,
    reason: 'socket_unsafe',
    rule: socketRule,
  },
  // A file that its owner made read-only is private as well.
  file: {
    is: (found) => found.isFile(),
    name: 'a plain file',
    isSafe: (mode) => (mode & 0o7177) === 0,
    mode: 0o600,
    reason: 'file_unreadable',
    rule: 'a file of the home is yours alone (0600), and no symbolic link',
  },
} as const satisfies Record<string, Kind>;

/**
 * Throws `socket_unsafe` for a socket or its folder, `file_unreadable` for a file or another folder that isn't
 * private. `found` comes from lstat, or from fstat of a file that was opened without following links.
 */
export function checkPrivate(found: BigIntStats, name: string, what: keyof typeof kinds): void {
  const kind: Kind = kinds[what];
  const { reason, rule, elsewhere = 'set KEYTURN_HOME to a folder of your own' } = kind;
  const refuse = (problem: string, hint: string): never => {
    throw new KeyturnError(reason, `${quoted(name)} ${problem}`, { rule, hint });
  };
  const uid = process.getuid?.();
  if (uid !== undefined && found.uid !== BigInt(uid)) {
    refuse(`belongs to user ${found.uid}, not to you`, `Ask its owner to remove it, or ${elsewhere}.`);
  }
  if (!kind.is(found)) {
    refuse(
      `is not ${kind.name} (or is a symbolic link)`,
      `Look at what it is. If you do not need it, move it away: mv ${shellWord(name)} ${shellWord(`${name}.old`)}`,
    );
  }
  // Windows has no such modes; a folder in the user's profile is the user's there.
  if (uid === undefined) return;
  const mode = Number(found.mode & 0o7777n);
  if (kind.isSafe(mode)) return;
  refuse(
    `has mode ${octal(mode)}, and only ${octal(kind.mode)} is safe`,
    `If nobody else can have changed or read it: chmod ${kind.mode.toString(8)} ${shellWord(name)}`,
  );
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}
