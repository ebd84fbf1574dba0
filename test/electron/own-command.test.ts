/** What the app leaves in its home for `keyturn`, which offers to start it where it doesn't run. */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { appCommandFile } from '../../src/base/paths.ts';
import { newHome } from '../support/home.ts';
import { startInDouble } from './rig.ts';

it('the app notes the command that starts it', async () => {
  const home = newHome();
  await startInDouble(home, ['--hidden']);
  const file = appCommandFile(home.paths);
  const script = process.argv[1] ?? '';
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual([process.execPath, path.resolve(script)]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});
