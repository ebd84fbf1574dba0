/**
 * The folder of one `keyturn forward` in the system's temporary folder, for ssh's control socket and its log.
 *
 * Invariant: only folders of this user are removed, and only those whose process has ended.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemCode } from '../../base/system-error.ts';

const prefix = 'keyturn-ssh-';

/** Makes it. The name holds the id of this process. */
export function ownFolder(): string {
  removeLeftovers();
  return mkdtempSync(path.join(tmpdir(), `${prefix}${process.pid}-`));
}

/** The folders of commands that were killed. One whose process id is in use again is removed another time. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(prefix))) {
    const pid = Number(/^\d+(?=-)/.exec(name.slice(prefix.length))?.[0]);
    const folder = path.join(tmpdir(), name);
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (!found?.isDirectory() || found.uid !== process.getuid?.() || !isEnded(pid)) continue;
    rmSync(folder, { recursive: true, force: true });
  }
}

function isEnded(pid: number): boolean {
  try {
    if (pid > 0) process.kill(pid, 0);
    return false;
  } catch (error) {
    return systemCode(error) === 'ESRCH';
  }
}
