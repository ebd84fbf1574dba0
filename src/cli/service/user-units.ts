/**
 * The user's own units: where they lie, which of them are ours, and what systemd says of them.
 *
 * Invariant: a unit that Keyturn did not write is never changed or removed.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { deskCommandFile, homePaths } from '../../base/paths.ts';
import { isSingle } from '../../base/system/single.ts';
import { systemCode } from '../../base/system-error.ts';
import { socketPath } from '../../ipc/wire/socket-path.ts';
import { nodeFlags } from '../broker/auto-start.ts';
import { literal, serviceUnit, socketUnit } from './units.ts';

export const unitNames = ['keyturn.service', 'keyturn.socket'] as const;
export type UnitName = (typeof unitNames)[number];

const mark = '# Written by `keyturn service install`; `keyturn service remove` removes it.\n';
const documentation = 'https://keyturn.example/';

/** Where the Debian package lies, with units of its own. */
const packaged = { program: '/usr/lib/keyturn/cli/bin.js', units: '/usr/lib/systemd/user' } as const;

function unitFile(name: UnitName): string {
  const paths = homePaths({ ...process.env, KEYTURN_HOME: undefined });
  return path.join(path.dirname(paths.config), 'systemd', 'user', name);
}

/** Writes the units, unless the package brought them. Throws `conflict` for a unit of somebody else's. */
export function writeUnits(withSocket: boolean): void {
  const paths = homePaths();
  const home = process.env['KEYTURN_HOME'] ? path.resolve(process.env['KEYTURN_HOME']) : undefined;
  const own = realpathSync(isSingle ? process.execPath : (process.argv[1] ?? ''));
  if (
    own === packaged.program &&
    home === undefined &&
    existsSync(path.join(packaged.units, 'keyturn.service'))
  )
    return;
  const command: [string, ...string[]] = isSingle
    ? [own, 'daemon']
    : [process.execPath, ...nodeFlags, own, 'daemon'];
  write('keyturn.service', serviceUnit({ command, home, documentation }));
  if (!withSocket) return;
  const listening = {
    path: literal(socketPath(paths)),
    deskFile: literal(deskCommandFile(paths)),
    documentation,
  };
  write('keyturn.socket', socketUnit(listening));
}

function write(name: UnitName, text: string): void {
  const file = unitFile(name);
  if (existsSync(file) && !isOurs(file))
    throw new KeyturnError(
      'conflict',
      `There is a unit ${quoted(file)} already, which Keyturn did not write.`,
      {
        hint: 'Move it away, or use it as it is.',
      },
    );
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${mark}${text}`);
}

const isOurs = (file: string): boolean => readFileSync(file, 'utf8').startsWith(mark);

/** The units that were removed. */
export function removeUnits(): string[] {
  const files = unitNames.map(unitFile).filter((file) => existsSync(file) && isOurs(file));
  for (const file of files) rmSync(file);
  return files;
}

/** What `systemctl --user` prints. Throws `invalid_request` with its complaint. */
export async function systemctl(...words: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)('systemctl', ['--user', ...words], { encoding: 'utf8' })).stdout;
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
