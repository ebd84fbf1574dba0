/** The switches the app refuses to start with. */
import { describe, expect, it } from 'vitest';
import { forbiddenSwitches } from '../../electron/base/switches.ts';
import { newHome } from '../support/home.ts';
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

  it('reads a slash as a dash on Windows only', () => {
    expect(forbiddenSwitches(['/no-sandbox'], 'win32')).toEqual(['/no-sandbox']);
    expect(forbiddenSwitches(['/no-sandbox'], 'linux')).toEqual([]);
  });

  it('takes on Windows what it adds for a click on a notification', () => {
    expect(forbiddenSwitches(['-Embedding', '--hidden'], 'win32')).toEqual([]);
    expect(forbiddenSwitches(['--Embedding', '-Embedding=x', '/Embedding'], 'win32')).toHaveLength(3);
    expect(forbiddenSwitches(['-Embedding'], 'linux')).toEqual(['-Embedding']);
  });

  it('ends the app before it is ready, and before it makes a home', async () => {
    const home = newHome();
    await startInDouble(home, ['--no-sandbox', `--\u001B]0;x\u0007\u202E${'a'.repeat(5000)}`]);
    expect(double).toMatchObject({ exitCode: 2, isReady: false });
    const [said = ''] = double.errors;
    expect(said).toContain('It was started with “--no-sandbox”, “--\\u{1b}]0;x\\u{7}\\u{202e}aaa');
    expect(said.length).toBeLessThan(300);
    expect((await home.keyturn(['daemon', '--stop'])).stderr).toContain('no broker runs');
  });
});

describe('an environment that the app refuses to start with', () => {
  it.each([
    { env: { KEYTURN_VAULT: 'nowhere' }, why: 'KEYTURN_VAULT has a bad value' },
    { env: { NODE_DEBUG: 'http' }, why: 'NODE_DEBUG is set' },
  ])('says that $why, and ends', async ({ env, why }) => {
    const home = newHome({ env });
    await startInDouble(home);
    expect(double.exitCode).toBe(1);
    expect(double.errors.join(' ')).toContain(why);
  });
});
