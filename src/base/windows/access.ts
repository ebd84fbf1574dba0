/**
 * Who may use a folder or a named pipe on Windows, in place of modes: this user, and of folders the system besides,
 * which could take them anyway. Loaded on the broker's side only.
 *
 * Invariant: rights are replaced as a whole, and a folder's are read back. If the system refuses or shows others, this
 * throws, so that nothing is served from a place that others may use.
 */
import { KeyturnError, quoted } from '../errors.ts';
import { loadSecurity, type Security } from './security.ts';

const system = 'S-1-5-18';
const administrators = 'S-1-5-32-544';

export interface WindowsAccess {
  /** Keeps other users out of a folder and of what is below it. Throws `socket_unsafe`. */
  restrictFolder(folder: string): void;
  /** Keeps other users from a named pipe that this process listens on. Throws `socket_unsafe`. */
  restrictPipe(pipe: string): void;
}

export async function loadWindowsAccess(): Promise<WindowsAccess> {
  const security = await loadSecurity();
  const { user, owner } = security;
  return {
    restrictFolder: (folder) => {
      const problem = folderProblem(security, folder, new Set([user, owner, system, administrators]));
      if (problem === undefined) return;
      throw new KeyturnError(
        'socket_unsafe',
        `Other users may use the folder ${quoted(folder)}: ${problem}.`,
        {
          rule: 'the home’s folders are yours alone',
          hint: 'Set KEYTURN_HOME to your own folder on a disk with NTFS, or take the folder’s ownership.',
        },
      );
    },
    restrictPipe: (pipe) => {
      // No rights for the system: nothing of it has to open the pipe.
      if (security.setPipeRights(pipe, `D:P(A;;FA;;;${user})`)) return;
      throw new KeyturnError('socket_unsafe', `Windows didn't keep other users from ${quoted(pipe)}.`, {
        rule: 'the broker’s pipe is yours alone',
        hint: 'Start the broker again; see that no other program listens there.',
      });
    },
  };
}

/** Undefined if only these users may use the folder now. */
function folderProblem(security: Security, folder: string, owners: ReadonlySet<string>): string | undefined {
  // Who owns it may change its rights again.
  if (!owners.has(security.ownerOf(folder) ?? '')) return 'another user owns it';
  if (!security.setFolderRights(folder, `D:P(A;OICI;FA;;;${security.user})(A;OICI;FA;;;${system})`))
    return 'Windows refused to change its rights';
  const entries = security.rightsOf(folder)?.match(/\([^)]*\)/g) ?? ['none'];
  const known = new RegExp(String.raw`^\(A;[A-Z]*;FA;;;(${system}|${security.user})\)$`);
  return entries.every((entry) => known.test(entry)) ? undefined : 'its file system keeps no rights';
}
