/**
 * The folder of one `keyturn forward` in the system's temporary folder, for ssh's control socket and its log.
 *
 * Invariant: only folders of this user are removed, and only those whose process has ended.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isAlive } from '../broker/broker-end.ts';

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
    if (!found?.isDirectory() || found.uid !== process.getuid?.() || !(pid > 0) || isAlive(pid)) continue;
    rmSync(folder, { recursive: true, force: true });
  }
}
