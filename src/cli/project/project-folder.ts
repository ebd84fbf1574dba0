/**
 * Where a project says which account to use at a server: the nearest `.keyturn.toml`, from the working folder upwards.
 *
 * Invariants: only folders of the user's own are looked in, on the file system of the working folder, and below the
 * home folder. What can't be looked at is refused, and never counts as absent. No package: `keyturn token` loads this
 * file.
 */
import { lstatSync, realpathSync, statSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { unreadableFile } from '../../base/private-file.ts';
import { systemCode } from '../../base/system-error.ts';
import type { TokenGetParams } from '../../ipc/wire/token-messages.ts';

const projectFileName = '.keyturn.toml';

export interface ProjectFolder {
  /** The folder's canonical path. */
  readonly folder: string;
  /** Tells it from another folder that stood at this path before, or will. */
  readonly mark: string;
  readonly file: string;
}

/**
 * The request, with the account that a project file names for its server. What was typed counts before any file.
 * Throws `file_unreadable`.
 */
export async function withProjectAccount<P extends TokenGetParams>(params: P): Promise<P> {
  const project = params.account === undefined ? projectFolder() : undefined;
  if (!project) return params;
  const { accountFor } = await import('./project-file.ts');
  const account = accountFor(project.file, params.resource);
  const { folder, mark } = project;
  return account === undefined ? params : { ...params, account, chosenBy: { folder, mark } };
}

/** Undefined where there is no file, and where the working folder is gone. */
function projectFolder(): ProjectFolder | undefined {
  const start = workingFolder();
  if (start === undefined) return undefined;
  const home = canonicalHome();
  const { dev } = statSync(start, { bigint: true });
  for (let folder = start; folder !== home; folder = path.dirname(folder)) {
    const found = statSync(folder, { bigint: true });
    if (found.dev !== dev || !isOwn(found)) return undefined;
    const file = path.join(folder, projectFileName);
    if (isThere(file)) return { folder, mark: markOf(found), file };
    if (path.dirname(folder) === folder) return undefined;
  }
  return undefined;
}

function workingFolder(): string | undefined {
  try {
    return realpathSync(process.cwd());
  } catch {
    return undefined;
  }
}

function canonicalHome(): string | undefined {
  try {
    return realpathSync(homedir());
  } catch {
    return undefined;
  }
}

/** Windows has no such numbers; there the user's rights decide what is found. */
function isOwn({ uid }: BigIntStats): boolean {
  const own = process.getuid?.();
  return own === undefined || uid === BigInt(own);
}

function isThere(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return false;
    throw unreadableFile(
      file,
      `it can't be looked at (${systemCode(error)})`,
      'See that its folder can be entered.',
    );
  }
}

/** File systems use the number of a removed folder again, so its time of birth stands beside it. */
const markOf = ({ ino, birthtimeNs }: BigIntStats): string => `${ino}:${birthtimeNs}`;
