/**
 * Reads the administrator's policy from its place in the system, once at the start.
 *
 * Invariants: the place doesn't depend on the environment or the home. The file and the folders above it belong to root,
 * and nobody else can write them; on Windows only administrators can change or replace it. A policy that can't be read or
 * understood keeps the broker from starting: it might have forbidden anything.
 */
import { constants } from 'node:fs';
import { lstat, open, readFile } from 'node:fs/promises';
import path from 'node:path';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { systemCode } from '../../base/system-error.ts';
import { Policy, policySchema } from '../../broker/records/policy.ts';

/** Bytes: far more than any list that a person keeps. */
const maxSize = 1_000_000;

export async function policyPlace(platform: NodeJS.Platform = process.platform): Promise<string> {
  if (platform === 'win32') return path.join((await administrators()).folder, 'Keyturn', 'policy.json');
  return platform === 'darwin'
    ? '/Library/Application Support/Keyturn/policy.json'
    : '/etc/keyturn/policy.json';
}

/** An empty policy where there is no file. Throws `file_unreadable`. */
export async function readPolicy(file: string): Promise<Policy> {
  const text = process.platform === 'win32' ? await readOnWindows(file) : await readOnUnix(file);
  if (text === undefined) return new Policy();
  const parsed = policySchema.safeParse(jsonOf(file, text));
  if (parsed.success) {
    // Loaded only where there is a policy: few machines have one.
    const { repeatedField } = await import('./repeated-field.ts');
    const repeated = repeatedField(text);
    if (repeated !== undefined) throw unusable(file, `${quoted(repeated)} is there twice`);
    return new Policy(file, parsed.data);
  }
  const issue = parsed.error.issues[0];
  throw unusable(file, `${quoted(issue?.path.join('.') ?? '')}: ${issue?.message ?? 'bad value'}`);
}

/** True also for a link that leads nowhere. */
async function isThere(name: string): Promise<boolean> {
  try {
    await lstat(name);
    return true;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error))) return false;
    throw unusable(name, `it can’t be read (${systemCode(error)})`);
  }
}

async function administrators() {
  const { loadAdministratorsFiles } = await import('../../base/windows/administrators.ts');
  return loadAdministratorsFiles();
}

/** Looks at the rights first: nobody can exchange file or folder after that. */
async function readOnWindows(file: string): Promise<string | undefined> {
  const folder = path.dirname(file);
  if (!(await isThere(folder))) return undefined;
  const files = await administrators();
  const refuse = (name: string, kind: 'file' | 'folder'): void => {
    const problem = files.problemOf(name, kind);
    if (problem !== undefined) throw unusable(name, `others than administrators can change it: ${problem}`);
  };
  for (let above = folder; ; above = path.dirname(above)) {
    refuse(above, 'folder');
    if (above === path.dirname(above)) break;
  }
  if (!(await isThere(file))) return undefined;
  refuse(file, 'file');
  try {
    const { size } = await lstat(file);
    if (size > maxSize) throw unusable(file, 'it is no file of a usual size');
    return await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof KeyturnError) throw error;
    throw unusable(file, `it can’t be read (${systemCode(error)})`);
  }
}

async function readOnUnix(file: string): Promise<string | undefined> {
  const text = await readIfAny(file);
  // Where others can change the folder, they may have taken the file away.
  if (text === undefined && !(await isThere(path.dirname(file)))) return undefined;
  for (let above = path.dirname(file); ; above = path.dirname(above)) {
    refuseChangeable(above, await lstat(above));
    if (above === path.dirname(above)) return text;
  }
}

async function readIfAny(file: string): Promise<string | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = await handle.stat();
      if (!found.isFile() || found.size > maxSize) throw unusable(file, 'it is no file of a usual size');
      refuseChangeable(file, found);
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error))) return undefined;
    if (error instanceof KeyturnError) throw error;
    throw unusable(file, `it can’t be read (${systemCode(error)})`);
  }
}

const writableByOthers = 0o022;

function refuseChangeable(
  name: string,
  { uid, mode }: { readonly uid: number; readonly mode: number },
): void {
  if (uid === 0 && (mode & writableByOthers) === 0) return;
  throw unusable(name, 'others than root can change it');
}

function jsonOf(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unusable(file, 'it is no JSON');
  }
}

function unusable(file: string, why: string): KeyturnError {
  return new KeyturnError(
    'file_unreadable',
    `The administrator’s policy can’t be used: ${quoted(file)}: ${why}.`,
    {
      facts: { file },
      rule: 'Without its policy no broker starts',
      hint: 'Whoever administers this machine can mend it: docs/policy.md shows what it may hold.',
    },
  );
}
