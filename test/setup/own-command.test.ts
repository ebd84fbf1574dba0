/** Which name of a program is written into a client's file: one that a new version doesn't take away. */
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { absoluteCommand } from '../../src/cli/apps/configured-entry.ts';
import { stablePath } from '../../src/setup/own-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A manager's folder of one version, the link that stands for it, and the program in both. */
const managers: readonly (readonly [string, version: string, link: string, program: string])[] = [
  ['Homebrew', 'brew/Cellar/node/24.1.0', 'brew/opt/node', 'bin/node'],
  ['fnm', 'fnm/node-versions/v24.1.0/installation', 'fnm/aliases/default', 'bin/node'],
  ['nvm', '.nvm/versions/node/v24.1.0', '.nvm/current', 'bin/node'],
  ['mise', 'mise/installs/node/24.1.0', 'mise/installs/node/latest', 'bin/node'],
  ['Scoop', 'scoop/apps/nodejs/24.1.0', 'scoop/apps/nodejs/current', 'node'],
  ['pnpm', 'pnpm/node_modules/.pnpm/keyturn@0.2.0/node_modules/keyturn', 'pnpm/node_modules/keyturn', 'node'],
];

const [brew, nvm, fnm] = [
  'brew/Cellar/node/24.1.0/bin/node',
  '.nvm/versions/node/v24.1.0/bin/node',
  'fnm/node-versions/v24.1.0/installation',
];

/** A file, a link, and what the link names, in a folder of the test. */
const stays: readonly (readonly [string, file: string, link: string, to: string, written: string])[] = [
  ...managers.map(
    ([what, version, link, program]) =>
      [what, `${version}/${program}`, link, version, `${link}/${program}`] as const,
  ),
  ['Homebrew in PATH', brew, 'bin/node', brew, 'bin/node'],
  ['a link that another version has by now', nvm, '.nvm/current', '.nvm/versions/node/v25.0.0', nvm],
  ['a terminal of fnm', `${fnm}/bin/node`, 'fnm_multishells/1_2', fnm, `${fnm}/bin/node`],
  ['no version', 'lib/node', 'bin/node', 'lib/node', 'lib/node'],
];

it.each(stays)('the name that stays is written: %s', (_what, file, link, to, written) => {
  const folder = realpathSync(temporaryFolder());
  const [real, from] = [path.join(folder, file), path.join(folder, link)];
  for (const made of [real, from]) mkdirSync(path.dirname(made), { recursive: true });
  writeFileSync(real, '', { mode: 0o755 });
  symlinkSync(path.join(folder, to), from);
  const env = { PATH: ['bin', 'fnm_multishells/1_2/bin'].map((name) => path.join(folder, name)).join(':') };
  expect(stablePath(real, 'node', env)).toBe(path.join(folder, written));
});

it('a program that is gone is written by its path, too', () => {
  const { argv } = process;
  onTestFinished(() => void (process.argv = argv));
  process.argv = ['node', '/gone/bin.js'];
  expect(absoluteCommand({}).words).toEqual([expect.stringMatching(/^\//), '/gone/bin.js']);
});
