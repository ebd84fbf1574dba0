/**
 * The user's own units: where they lie, which of them are ours, whether systemd listens for us, their start and their end.
 *
 * Invariant: a unit that Keyturn did not write is never changed, stopped or removed.
 */
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { KeyturnError, shellWord } from '../base/errors.ts';
import { homePaths, type HomePaths } from '../base/paths.ts';
import { socketPlaces } from '../ipc/wire/socket-path.ts';
import { NoSystemd, systemctl } from './systemctl.ts';

export const unitNames = ['keyturn.service', 'keyturn.socket'] as const;
export type UnitName = (typeof unitNames)[number];

export const mark = '# Written by `keyturn service install`; `keyturn service uninstall` removes it.\n';

export function unitFile(name: UnitName, env: NodeJS.ProcessEnv = process.env): string {
  const paths = homePaths({ ...env, KEYTURN_HOME: undefined });
  return path.join(path.dirname(paths.config), 'systemd', 'user', name);
}

/** A unit that can't be read counts as somebody else's. */
export function isOurs(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').startsWith(mark);
  } catch {
    return false;
  }
}

/** A path without specifiers: `%` begins one (systemd.unit(5)). */
export const literal = (file: string): string => file.replaceAll('%', '%%');

/** One word as it is (systemd.syntax(7)). */
export function word(text: string): string {
  const plain = literal(text);
  return /^[\w/.:=@%$-]+$/.test(plain) ? plain : `"${plain.replaceAll(/[\\"]/g, String.raw`\$&`)}"`;
}

/** `home`: KEYTURN_HOME, if the home isn't the default one. */
export const homeLine = (home: string | undefined): string =>
  home === undefined ? '' : `Environment=${word(`KEYTURN_HOME=${home}`)}\n`;

/**
 * Has systemd start the broker of this home, if `keyturn service install` gave it that. False where systemd doesn't.
 * Only a service has a credential of systemd, and its limits.
 */
export async function startService(env: NodeJS.ProcessEnv = process.env): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  try {
    const file = unitFile('keyturn.service', env);
    if (!isOurs(file)) return false;
    const [line = ''] = /^Environment="?KEYTURN_HOME=.*\n/m.exec(readFileSync(file, 'utf8')) ?? [];
    if (line !== homeLine(env['KEYTURN_HOME'] || undefined)) return false;
    await systemctl(['start', 'keyturn.service'], env);
    return true;
  } catch {
    return false;
  }
}

/** The files that were removed. */
export function removeUnits(env: NodeJS.ProcessEnv = process.env): string[] {
  const files = unitNames.map((name) => unitFile(name, env)).filter(isOurs);
  for (const file of files) rmSync(file);
  return files;
}

/** Throws `conflict` where somebody else wrote the unit. */
export function refuseForeignUnit(name: UnitName, env: NodeJS.ProcessEnv): void {
  if (isOurs(unitFile(name, env))) return;
  throw new KeyturnError('conflict', `Keyturn did not write the unit ${name}.`, {
    rule: 'Keyturn stops and removes only the units that it wrote',
    hint: `Whoever wrote it can end it: systemctl --user disable --now ${shellWord(name)}`,
  });
}

/**
 * Stops the service and its socket, now and after each login. The files that were removed. Throws `conflict` where none is
 * Keyturn's, and as `systemctl`.
 */
export async function removeService(env: NodeJS.ProcessEnv = process.env): Promise<string[]> {
  // systemd refuses to stop a unit that isn't there.
  const ours = unitNames.filter((name) => isOurs(unitFile(name, env)));
  if (ours.length === 0) refuseForeignUnit('keyturn.service', env);
  await systemctl(['disable', '--now', ...ours], env);
  const removed = removeUnits(env);
  await systemctl(['daemon-reload'], env);
  return removed;
}

/**
 * Whether systemd listens at the socket of this home, regardless of who wrote the unit. False where there is no systemd. Throws as
 * `systemctl` where there is one and it doesn't say.
 */
export async function systemdListens(paths: HomePaths, env: NodeJS.ProcessEnv): Promise<boolean> {
  const asked = ['show', '--property=ActiveState', '--property=Listen', 'keyturn.socket'];
  try {
    const lines = (await systemctl(asked, env)).split('\n');
    return (
      lines.includes('ActiveState=active') && lines.includes(`Listen=${socketPlaces(paths, env)[0]} (Stream)`)
    );
  } catch (error) {
    if (error instanceof NoSystemd) return false;
    throw error;
  }
}
