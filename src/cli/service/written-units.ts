/** The units that `keyturn service install` writes for this program and this home. */
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { deskCommandFile, homePaths } from '../../base/paths.ts';
import { isSingle } from '../../base/system/single.ts';
import { socketPath } from '../../ipc/wire/socket-path.ts';
import { isOurs, mark, packagedUnits, unitFile } from '../../service/user-units.ts';
import type { UnitName } from '../../service/user-units.ts';
import { nodeFlags } from '../broker/auto-start.ts';
import { literal, serviceUnit, socketUnit } from './units.ts';

const documentation = 'https://keyturn.example/';

/** The program of the Debian package, which has units of its own. */
const packagedProgram = '/usr/lib/keyturn/cli/bin.js';

/** Writes the units, unless the package brought them. Throws `conflict` for a unit of somebody else's. */
export function writeUnits(withSocket: boolean): void {
  const paths = homePaths();
  const home = process.env['KEYTURN_HOME'] || undefined;
  const own = realpathSync(isSingle ? process.execPath : (process.argv[1] ?? ''));
  if (
    own === packagedProgram &&
    home === undefined &&
    existsSync(path.join(packagedUnits, 'keyturn.service'))
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
