/** The units that `keyturn service install` writes for this program and this home. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { appCommandFile, homePaths } from '../../base/paths.ts';
import { isSingle } from '../../base/system/single.ts';
import { socketPlaces } from '../../ipc/wire/socket-path.ts';
import { isOurs, mark, unitFile, type UnitName } from '../../service/user-units.ts';
import { nodeFlags } from '../broker/auto-start.ts';
import { absoluteCommand } from '../apps/configured-entry.ts';
import { serviceUnit, socketUnit } from './units.ts';

/** Returns the topmost folder that had to be made, if any. Throws `conflict` for a unit of somebody else's. */
export function writeUnits(withSocket: boolean): string | undefined {
  const paths = homePaths();
  const home = process.env['KEYTURN_HOME'] || undefined;
  const [program, ...script] = absoluteCommand().words;
  const command: [string, ...string[]] = isSingle
    ? [program, 'broker', 'run']
    : [program, ...nodeFlags, ...script, 'broker', 'run'];
  const made = write('keyturn.service', serviceUnit({ command, home }));
  if (withSocket)
    write('keyturn.socket', socketUnit({ path: socketPlaces(paths)[0], appFile: appCommandFile(paths) }));
  return made;
}

function write(name: UnitName, text: string): string | undefined {
  const file = unitFile(name);
  if (existsSync(file) && !isOurs(file))
    throw new KeyturnError(
      'conflict',
      `There is a unit ${quoted(file)} already, which Keyturn did not write.`,
      { hint: 'Move it away, or use it as it is.' },
    );
  const made = mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${mark}${text}`);
  return made;
}

/** The folders that were made for a unit, from the topmost on, unless something else is there by now. */
export function removeEmpty(topmost: string): void {
  let folder = path.dirname(unitFile('keyturn.service'));
  try {
    for (; folder !== path.dirname(topmost); folder = path.dirname(folder)) rmdirSync(folder);
  } catch {
    // Somebody uses it.
  }
}
