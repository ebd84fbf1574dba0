/** The workflows of hosted machines, and what they are made of. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { faultsOf } from '../scripts/check-workflows.mjs';
import { root } from './docs/pages.ts';

const folder = path.join(root, '.github', 'workflows');

it('GitHub’s parser finds no fault in the workflows, and all actions are pinned', async () => {
  const names = readdirSync(folder);
  expect(names).toEqual(['ci.yml', 'release.yml']);
  for (const name of names) expect(await faultsOf(readFileSync(path.join(folder, name), 'utf8'))).toEqual([]);
  const text = readFileSync(path.join(folder, 'ci.yml'), 'utf8');
  expect(await faultsOf(text.replace('runs-on:', 'run-on:'))).not.toEqual([]);
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
