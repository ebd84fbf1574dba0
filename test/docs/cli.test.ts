/** Help texts, reference page and completion scripts say of every command what its statement says. */
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { referencePages } from '../../scripts/packaging/reference-pages.ts';
import { statements } from '../../src/cli/main.ts';
import { fullHelpOf } from '../../src/cli/terminal/help.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { page, root } from './pages.ts';

const bin = path.join(root, 'src', 'cli', 'bin.ts');
const keyturn = (...args: string[]): string =>
  execFileSync(process.execPath, [bin, ...args], { encoding: 'utf8' });

const all = await statements();
const shells = ['bash', 'zsh', 'fish'] as const;

it('keyturn help COMMAND shows no option that only Keyturn gives itself', () => {
  const broker = all.find(({ name }) => name === 'broker run');
  expect(Object.keys(broker?.options ?? {})).toContain('auto-started');
  expect(broker && fullHelpOf(broker)).not.toContain('auto-started');
  expect(shells.map((shell) => keyturn('completion', shell)).join('')).not.toContain('auto-started');
});

it.each(Object.entries(await referencePages()))('%s is what `npm run docs` writes', (name, written) => {
  expect(page(name).text).toBe(written);
});

describe('completion', () => {
  const scripts = new Map(shells.map((shell) => [shell, keyturn('completion', shell)]));
  const folder = temporaryFolder(afterAll);
  for (const [shell, script] of scripts) writeFileSync(path.join(folder, shell), script);

  const installed = shells.filter((shell) => spawnSync(shell, ['--version']).status === 0);

  /** What a real bash offers for a line whose last word is being typed. */
  function offered(...words: string[]): string[] {
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _keyturn; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const file = path.join(folder, 'bash');
    const output = execFileSync('bash', ['--norc', '-c', script, 'bash', file, ...words], {
      encoding: 'utf8',
    });
    return output.split('\n').filter((line) => line !== '');
  }

  it.each([
    ['a command', ['keyturn', 'to'], ['token']],
    ['the verbs of a noun', ['keyturn', 'app', 're'], ['revoke', 'remove']],
    ['an option of the verb', ['keyturn', 'app', 'allow', '--f'], ['--for']],
    ['the values of an option', ['keyturn', 'token', '--status', ''], ['401', '403']],
    ['nothing where an option takes free text', ['keyturn', 'token', '--scope', ''], []],
    [
      'options where nothing else can stand',
      ['keyturn', 'request', 'approve', '1a2b3c4d', ''],
      ['--once', '--this-run', '--for', '--scope', '--account', '--help'],
    ],
    ['the names of settings', ['keyturn', 'settings', 'get', 'log'], ['logLevel']],
    [
      'the values of a setting',
      ['keyturn', 'settings', 'set', 'vault', ''],
      ['keychain', 'sealed-file', 'memory'],
    ],
    ['the rules of an exception', ['keyturn', 'exception', 'add', 'https://a.example', 'au'], ['audience']],
  ])('offers %s in bash', (_what, words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });

  it.runIf(installed.includes('zsh'))('is loaded by a zsh whose own completion was not started', () => {
    const script = `source ${path.join(folder, 'zsh')} && print $_comps[keyturn]`;
    const { stdout, stderr } = spawnSync('zsh', ['-f', '-c', script], {
      encoding: 'utf8',
      env: { ...process.env, HOME: folder },
    });
    expect({ stdout, stderr }).toEqual({ stdout: '_keyturn\n', stderr: '' });
  });

  it.runIf(installed.includes('fish'))('offers the values of a setting in fish', () => {
    const script = `source ${path.join(folder, 'fish')}; complete -C 'keyturn settings set vault '`;
    expect(
      execFileSync('fish', ['--no-config', '-c', script], { encoding: 'utf8', env: { HOME: folder } }),
    ).toBe('keychain\nmemory\nsealed-file\n');
  });
});
