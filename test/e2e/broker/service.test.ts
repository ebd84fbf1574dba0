/** The unit of the service, as systemd reads it. What is asked of systemd: test/cli/service.txt. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { serviceUnit } from '../../../src/cli/service/units.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;

it.runIf(hasAnalyze)('systemd reads every path of a unit as it is', () => {
  const folder = temporaryFolder();
  // Quotes and backslashes are refused by systemd in the path of a program.
  const program = path.join(folder, 'a b 100% $HOME');
  writeFileSync(program, '', { mode: 0o755 });
  const unit = path.join(folder, 'kt.service');
  writeFileSync(unit, serviceUnit({ command: [program, '$HOME', 'broker', 'run'], home: program }));
  const env = { ...process.env, XDG_RUNTIME_DIR: folder };
  // It looks for the program, whose path it has read.
  const { status, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', unit], {
    encoding: 'utf8',
    env,
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(readFileSync(unit, 'utf8')).toContain('100%% $HOME" $$HOME broker run\n');
});
