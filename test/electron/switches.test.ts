/** The switches the app refuses to start with. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { forbiddenSwitches } from '../../electron/base/switches.ts';
import { newHome, until } from '../support/home.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startInDouble } from './rig.ts';
import { double } from '../support/electron/electron-double.ts';

describe('the command line', () => {
  it.each([
    '--remote-debugging-port=9222',
    '--remote-debugging-pipe',
    '--js-flags=--expose-gc',
    '--no-sandbox',
    '--ignore-certificate-errors',
    '--host-resolver-rules=MAP * 127.0.0.1',
    '--load-extension=x',
    '--inspect',
    '-remote-debugging-port=9222',
    ' --no-sandbox',
    '--NO-SANDBOX',
    '--hidden-things',
    '--user-data-dir=elsewhere',
  ])('refuses %j', (word) => {
    expect(forbiddenSwitches(['--hidden', word])).toEqual([word.trim()]);
  });

  it('takes what the app and desktops set, and what is no switch', () => {
    const fine = ['--hidden', '--ozone-platform=wayland', 'file', '-', '--', '--no-sandbox'];
    expect(forbiddenSwitches(fine, 'linux')).toEqual([]);
  });

  it('ends the app before it is ready, and before it makes a home', async () => {
    const home = newHome();
    await startInDouble(home, ['--no-sandbox', `--\u001B]0;x\u0007\u202E${'a'.repeat(5000)}`]);
    expect(double).toMatchObject({ exitCode: 2, isReady: false });
    const [said = ''] = double.errors;
    expect(said).toContain('Keyturn does not accept “--no-sandbox”, “--\\u{1b}]0;x\\u{7}\\u{202e}aaa');
    expect(said.length).toBeLessThan(500);
    expect((await home.keyturn(['broker', 'stop'])).stderr).toContain('no broker runs');
  });
});

it.each([
  ['zenity', ['--error', '--no-markup', '--title', 'Keyturn could not start', '--text']],
  ['notify-send', ['--urgency=critical', 'Keyturn could not start']],
])('a refused start is said on the screen by %s', async (program, words) => {
  const folder = temporaryFolder();
  const file = path.join(folder, 'said');
  const script = `#!/bin/sh\nprintf '%s\\n' "$LD_LIBRARY_PATH" "$@" > '${file}.new'\n/bin/mv '${file}.new' '${file}'\n`;
  writeFileSync(path.join(folder, program), script, { mode: 0o755 });
  const PATH = `${folder}:/nowhere`;
  const home = newHome({ env: { DISPLAY: ':9', LD_LIBRARY_PATH: '/an/image', PATH } });
  await startInDouble(home, ['--no-sandbox']);
  const said = await until('it says it', () => (existsSync(file) ? readFileSync(file, 'utf8') : undefined));
  expect(said.split('\n').slice(0, words.length + 1)).toEqual(['', ...words]);
  expect(said).toContain('install the deb or the rpm');
  expect(double.exitCode).toBe(2);
});

it.each([
  { env: { KEYTURN_VAULT: 'nowhere' }, why: 'KEYTURN_VAULT has a bad value' },
  { env: { NODE_DEBUG: 'http' }, why: 'NODE_DEBUG is set' },
])('an app with a refused environment says that $why, and ends', async ({ env, why }) => {
  const home = newHome({ env });
  await startInDouble(home);
  expect(double.exitCode).toBe(1);
  expect(double.errors.join(' ')).toContain(why);
});
