/** The workflows of hosted machines: what their check finds, and what they are made of. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { faultsOf } from '../scripts/check-workflows.mjs';
import { root } from './docs/pages.ts';
import { whyLinux } from './support/needs-linux.ts';

const folder = path.join(root, '.github', 'workflows');

it('GitHub’s parser finds no fault in the workflows, and all actions are pinned', async () => {
  const names = readdirSync(folder);
  expect(names).toEqual(['ci.yml', 'release.yml']);
  for (const name of names) expect(await faultsOf(readFileSync(path.join(folder, name), 'utf8'))).toEqual([]);
});

it.each([
  ['a key that there is none of', 'runs-on:', 'run-on:', 'run-on'],
  ['a context that isn’t there', '${{ matrix.os }}', '${{ runner.os }}', 'runner'],
  ['an action by its version', /(upload-artifact)@\w+ # /, '$1@', 'pin the action'],
  ['a step that none has', 'steps.pack.', 'steps.pac.', 'pac'],
])('the check of workflows finds %s', async (_what, from, to, said) => {
  const text = readFileSync(path.join(folder, 'ci.yml'), 'utf8');
  expect(await faultsOf(text.replace(from, to))).toContainEqual(expect.stringContaining(said));
});

it('set-up prints the packages for the tests, without a browser if one is named', () => {
  const print = (chromium: string): string =>
    execFileSync(process.execPath, [path.join(root, 'scripts', 'setup.mjs'), '--print-packages'], {
      env: { ...process.env, KEYTURN_TEST_CHROMIUM: chromium },
      encoding: 'utf8',
    });
  expect(print('')).toMatch(/^(?:[a-z0-9.+-]+ )+[a-z]+\n$/);
  expect([print('').includes('chromium'), print('/usr/bin/x').includes('chromium')]).toEqual([true, false]);
});

it('another system leaves out a test file only for what it needs of Linux', () => {
  const why = (file: string, platform: NodeJS.Platform) => whyLinux(path.join(root, 'test', file), platform);
  expect(why('server/page.test.ts', 'darwin')).toContain('Chromium');
  expect(why('vault/keychain/keychain.test.ts', 'win32')).toContain('keyring');
  expect(why('oauth/grants/token.test.ts', 'win32')).toBeUndefined();
});
