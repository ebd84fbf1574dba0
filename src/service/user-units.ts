/**
 * The user's own units: where they lie, which of them are ours, what systemd says of them, and their end.
 *
 * Invariant: a unit that Keyturn did not write is never changed, stopped or removed.
 */
import { execFile } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { KeyturnError, quoted, shellWord } from '../base/errors.ts';
import { homePaths } from '../base/paths.ts';
import type { HomePaths } from '../base/paths.ts';
import { systemCode } from '../base/system-error.ts';
import { socketPath } from '../ipc/wire/socket-path.ts';

export const unitNames = ['keyturn.service', 'keyturn.socket'] as const;
export type UnitName = (typeof unitNames)[number];

export const mark = '# Written by `keyturn service install`; `keyturn service remove` removes it.\n';

type Environment = NodeJS.ProcessEnv;

export function unitFile(name: UnitName, env: Environment = process.env): string {
  const paths = homePaths({ ...env, KEYTURN_HOME: undefined });
  return path.join(path.dirname(paths.config), 'systemd', 'user', name);
}

/** One that can't be read isn't. */
export function isOurs(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').startsWith(mark);
  } catch {
    return false;
  }
}

/** The units that were removed. */
export function removeUnits(env: Environment = process.env): string[] {
  const files = unitNames.map((name) => unitFile(name, env)).filter(isOurs);
  for (const file of files) rmSync(file);
  return files;
}

/** Where Keyturn's Debian package lays its units. One of the user's own goes before. */
export const packagedUnits = '/usr/lib/systemd/user';

/** Whether systemd would read a unit of ours by this name. */
function isKeyturns(name: UnitName, env: Environment): boolean {
  const file = unitFile(name, env);
  const isThere = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  return isThere ? isOurs(file) : existsSync(path.join(packagedUnits, name));
}

/** Throws `conflict` where somebody else wrote the unit. */
export function refuseForeignUnit(name: UnitName, env: Environment): void {
  if (isKeyturns(name, env)) return;
  throw new KeyturnError('conflict', `Keyturn did not write the unit ${name}.`, {
    rule: 'Keyturn stops and removes only the units that it wrote',
    hint: `Whoever wrote it can end it: systemctl --user disable --now ${shellWord(name)}`,
  });
}

/**
 * Stops the service and its socket, now and after each login. The units that were removed. Throws `conflict` where none is
 * Keyturn's, and as `systemctl`.
 */
export async function removeService(env: Environment = process.env): Promise<string[]> {
  // systemd refuses to stop a unit that isn't there.
  const ours = unitNames.filter((name) => isKeyturns(name, env));
  if (ours.length === 0) refuseForeignUnit('keyturn.service', env);
  await systemctl(['disable', '--now', ...ours], env);
  const removed = removeUnits(env);
  await systemctl(['daemon-reload'], env);
  return removed;
}

/** Whether systemd listens at the socket of this home, whoever wrote the unit. False where there is no systemd. */
export async function systemdListens(paths: HomePaths, env: Environment): Promise<boolean> {
  const asked = ['show', '--property=ActiveState', '--property=Listen', 'keyturn.socket'];
  const said = await systemctl(asked, env).catch(() => '');
  const lines = said.split('\n');
  return lines.includes('ActiveState=active') && lines.includes(`Listen=${socketPath(paths)} (Stream)`);
}

/** What `systemctl --user` prints. Throws `invalid_request` with its complaint. */
export async function systemctl(words: readonly string[], env: Environment = process.env): Promise<string> {
  try {
    return (await promisify(execFile)('systemctl', ['--user', ...words], { encoding: 'utf8', env })).stdout;
  } catch (error) {
    const said: unknown =
      typeof error === 'object' && error !== null ? Reflect.get(error, 'stderr') : undefined;
    const why = typeof said === 'string' && said.trim() !== '' ? quoted(said.trim()) : systemCode(error);
    throw new KeyturnError('invalid_request', `systemd refused ${quoted(words.join(' '))}: ${why}.`, {
      hint: 'A service needs systemd, and a session of yours that it started. Without one, `keyturn daemon` runs the broker in a terminal.',
      cause: error,
    });
  }
}

/** A word such as `enabled` or `inactive`; these questions end with a failure for some of them. */
export async function unitState(question: 'is-enabled' | 'is-active', name: UnitName): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile('systemctl', ['--user', question, name], { encoding: 'utf8' }, (error, stdout) =>
    resolve(stdout.trim() || (error === null ? '' : 'unknown')),
  );
  return promise;
}
