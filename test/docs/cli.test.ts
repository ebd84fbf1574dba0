/** Help texts, reference page and completion scripts say of every command what its statement says. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { referencePages } from '../../scripts/packaging/reference-pages.ts';
import { statements, topics } from '../../src/cli/main.ts';
import { fullHelpOf, optionText } from '../../src/cli/terminal/help.ts';
import { shownOptions, topOptions } from '../../src/cli/terminal/statement.ts';
import { page, root } from './pages.ts';

const bin = path.join(root, 'src', 'cli', 'bin.ts');
const keyturn = (...args: string[]): string =>
  execFileSync(process.execPath, [bin, ...args], { encoding: 'utf8' });

const all = await statements();
const commands = all.map((statement) => [statement.name, statement] as const);
const shells = ['bash', 'zsh', 'fish'] as const;

/** A text without its line breaks and columns. */
const flat = (text: string): string => text.replaceAll(/\s+/g, ' ');

const overview = keyturn('--help');

it('keyturn --help names every command and what it is for, in two columns', async () => {
  for (const { name, summary } of await topics())
    expect(overview).toContain(`  ${name.padEnd(12)}  ${summary}\n`);
});

describe('keyturn help COMMAND', () => {
  it.each(commands)('says of %s all that is stated', (name, statement) => {
    const help = flat(fullHelpOf(statement));
    const { about, terms = {}, notes = [], exitCodes = {}, environment, examples } = statement;
    expect(help.startsWith(`Usage: keyturn ${name}`)).toBe(true);
    const words = [
      about,
      ...Object.entries(terms).map((row) => row.join(' ')),
      ...shownOptions(statement).map(
        ([option, stated]) => ` ${optionText(option, stated)} ${stated.summary}${stated.more ?? ''} `,
      ),
      ' -h, --help show this ',
      ...notes,
      ...(environment?.variables ?? []),
      ...Object.entries(exitCodes).map((row) => row.join(' ')),
      ...examples,
    ];
    for (const text of words) expect(help).toContain(flat(text));
  });

  it('shows no option that only Keyturn gives itself', () => {
    const broker = all.find(({ name }) => name === 'broker run');
    expect(Object.keys(broker?.options ?? {})).toContain('auto-started');
    expect(broker && fullHelpOf(broker)).not.toContain('auto-started');
    expect(shells.map((shell) => keyturn('completion', shell)).join('')).not.toContain('auto-started');
  });
});

it.each(Object.entries(await referencePages()))('%s is what `npm run docs` writes', (name, written) => {
  expect(page(name).text).toBe(written);
});

describe('completion', () => {
  const scripts = new Map(shells.map((shell) => [shell, keyturn('completion', shell)]));
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'keyturn-completion-'));
    for (const [shell, script] of scripts) writeFileSync(path.join(folder, shell), script);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(shells)('for %s has every command and every option', (shell) => {
    const script = scripts.get(shell) ?? '';
    const dashes = shell === 'fish' ? '-l ' : '--';
    for (const statement of all) {
      expect(script).toMatch(new RegExp(String.raw`\b${statement.name.split(' ').at(-1)}\b`));
      for (const [option] of shownOptions(statement)) {
        expect(script).toMatch(new RegExp(`${dashes}${option}(?![\\w-])`));
      }
    }
    for (const option of Object.keys(topOptions)) expect(script).toContain(`${dashes}${option}`);
  });

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
    ['several commands', ['keyturn', 'l'], ['login', 'logout', 'lock']],
    ['the verbs of a noun', ['keyturn', 'app', 're'], ['revoke', 'remove']],
    ['the options of a bare noun', ['keyturn', 'app', '--'], ['--json', '--help']],
    ['an option of the verb', ['keyturn', 'app', 'allow', '--f'], ['--for']],
    ['an option of the command', ['keyturn', 'token', '--min'], ['--min-validity']],
    ['no option of another command', ['keyturn', 'sign-in', 'list', '--min'], []],
    ['the values of an option', ['keyturn', 'token', '--status', ''], ['401', '403']],
    ['nothing where an option takes free text', ['keyturn', 'token', '--scope', ''], []],
    [
      'options where nothing else can stand',
      ['keyturn', 'request', 'approve', '1a2b3c4d', ''],
      ['--once', '--this-run', '--for', '--scope', '--account', '--help'],
    ],
    ['the names of settings', ['keyturn', 'settings', 'get', 'log'], ['logLevel']],
    ['a setting to unset', ['keyturn', 'settings', 'unset', 'br'], ['browser']],
    [
      'the values of a setting',
      ['keyturn', 'settings', 'set', 'vault', ''],
      ['keychain', 'sealed-file', 'memory'],
    ],
    ['some values of another setting', ['keyturn', 'settings', 'set', 'logLevel', 'd'], ['debug']],
    ['the rules of an exception', ['keyturn', 'exception', 'add', 'https://a.example', 'au'], ['audience']],
    ['the shells', ['keyturn', 'completion', 'z'], ['zsh']],
    ['a command to have help about', ['keyturn', 'help', 'un'], ['unlock']],
    ['nothing for a command that does not exist', ['keyturn', 'nothing', ''], []],
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
