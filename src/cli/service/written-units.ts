/** The units that `keyturn service install` writes for this program and this home. */
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { deskCommandFile, homePaths } from '../../base/paths.ts';
import { isSingle } from '../../base/system/single.ts';
import { socketPlaces } from '../../ipc/wire/socket-path.ts';
import { isOurs, mark, unitFile } from '../../service/user-units.ts';
import type { UnitName } from '../../service/user-units.ts';
import { nodeFlags } from '../broker/auto-start.ts';
import { serviceUnit, socketUnit } from './units.ts';

/** Throws `conflict` for a unit of somebody else's. */
export function writeUnits(withSocket: boolean): void {
  const paths = homePaths();
  const home = process.env['KEYTURN_HOME'] || undefined;
  const own = realpathSync(isSingle ? process.execPath : (process.argv[1] ?? ''));
  const command: [string, ...string[]] = isSingle
    ? [own, 'daemon']
    : [process.execPath, ...nodeFlags, own, 'daemon'];
  write('keyturn.service', serviceUnit({ command, home }));
  if (withSocket)
    write('keyturn.socket', socketUnit({ path: socketPlaces(paths)[0], deskFile: deskCommandFile(paths) }));
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
