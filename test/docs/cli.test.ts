/** Help texts, reference page and completion scripts say of every command what its statement says. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { statements } from '../../src/cli/main.ts';
import { helpOf, operandsText, optionText } from '../../src/cli/terminal/help.ts';
import { shownOptions, topOptions } from '../../src/cli/terminal/statement.ts';
import { page, root, section, tableRows } from './pages.ts';

const bin = path.join(root, 'src', 'cli', 'bin.ts');
const keyturn = (...args: string[]): string =>
  execFileSync(process.execPath, [bin, ...args], { encoding: 'utf8' });

const all = await statements();
const commands = all.map((statement) => [statement.name, statement] as const);
const shells = ['bash', 'zsh', 'fish'] as const;

/** A text without its line breaks and columns. */
const flat = (text: string): string => text.replaceAll(/\s+/g, ' ');

describe('keyturn --help', () => {
  const overview = keyturn('--help');

  it('names every command with its operands and what it is for, in two columns', () => {
    for (const { name, operands, summary } of all) {
      expect(flat(overview)).toContain(` ${name} ${operandsText(operands)}`.trimEnd());
      expect(overview).toMatch(new RegExp(`^ {2}${name} `, 'm'));
      expect(overview).toMatch(new RegExp(`^.{25}  ${summary.replaceAll(/[()]/g, String.raw`\$&`)}$`, 'm'));
    }
  });

  it('gives operands that fill their column a line of their own', () => {
    const line = `  override SERVER RULE on|off\n${' '.repeat(27)}waive one rule for one server that breaks it\n`;
    expect(overview).toContain(line);
  });
});

describe('keyturn COMMAND --help', () => {
  it.each(commands)('says of %s all that is stated', (name, statement) => {
    const help = flat(helpOf(statement));
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

  it.each(commands)('keeps %s within 80 columns, but for words that a shell reads', (_name, statement) => {
    const shellLines = /^(?:Usage:|      ) keyturn |^Examples?:\n(?:.*\n)*/gm;
    const lines = helpOf(statement).replaceAll(shellLines, '').split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });

  it('shows no option that only Keyturn gives itself', () => {
    const daemon = all.find(({ name }) => name === 'daemon');
    expect(Object.keys(daemon?.options ?? {})).toContain('auto-started');
    expect(daemon && helpOf(daemon)).not.toContain('auto-started');
    expect(shells.map((shell) => keyturn('completion', shell)).join('')).not.toContain('auto-started');
  });
});

describe('docs/cli.md', () => {
  it.each(commands)('has the usage and every option of keyturn %s', (name, statement) => {
    const text = section(page('docs/cli.md'), `keyturn ${name}`);
    const usage = helpOf(statement).matchAll(/^(?:Usage:|      ) (keyturn .*)$/gm);
    for (const [, line = ''] of usage) expect(text).toContain(`\n${line}\n`);
    const [options = ''] = text.split('\n### ');
    const rows = tableRows(options).slice(2);
    const documented = rows.map(([cell = '']) => cell.replaceAll('`', ''));
    expect(documented).toEqual(shownOptions(statement).map(([option, stated]) => optionText(option, stated)));
  });

  it('has one table of all commands, which says of each what --help says', () => {
    const rows = tableRows(section(page('docs/cli.md'), 'Commands')).slice(2);
    expect(rows).toEqual(all.map(({ name, summary }) => [`[\`${name}\`](#keyturn-${name})`, summary]));
  });

  it('has a section for no other command', () => {
    const titles = [...page('docs/cli.md').text.matchAll(/^## keyturn (.*)$/gm)].map(([, name]) => name);
    expect(titles).toEqual(all.map(({ name }) => name));
  });
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
      expect(script).toMatch(new RegExp(String.raw`\b${statement.name}\b`));
      for (const [option] of shownOptions(statement)) {
        expect(script).toMatch(new RegExp(`${dashes}${option}(?![\\w-])`));
      }
    }
    for (const option of Object.keys(topOptions)) expect(script).toContain(`${dashes}${option}`);
  });

  const installed = shells.filter((shell) => spawnSync(shell, ['--version']).status === 0);

  it.each(installed)('for %s is accepted by that shell', (shell) => {
    const { status, stderr } = spawnSync(shell, ['-n', path.join(folder, shell)], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('can be tried in bash on this machine', () => {
    expect(installed).toContain('bash');
  });

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
    ['several commands', ['keyturn', 'l'], ['login', 'list', 'lock']],
    ['an option of the command', ['keyturn', 'token', '--min'], ['--min-validity']],
    ['no option of another command', ['keyturn', 'list', '--min'], []],
    ['the values of an option', ['keyturn', 'token', '--status', ''], ['401', '403']],
    ['nothing where an option takes free text', ['keyturn', 'token', '--scope', ''], []],
    ['the answers to a question', ['keyturn', 'answer', '1a2b3c4d', ''], ['yes', 'no', 'later']],
    [
      'options where nothing else can stand',
      ['keyturn', 'answer', '1a2b3c4d', 'yes', ''],
      ['--once', '--this-run', '--for', '--scope', '--account', '--help'],
    ],
    ['the names of settings', ['keyturn', 'settings', 'log'], ['logLevel']],
    ['a setting to unset', ['keyturn', 'settings', '--unset', 'br'], ['browser']],
    ['the values of a setting', ['keyturn', 'settings', 'vault', ''], ['keychain', 'sealed-file', 'memory']],
    ['some values of another setting', ['keyturn', 'settings', 'logLevel', 'd'], ['debug']],
    ['no answer in place of the id', ['keyturn', 'answer', 'y'], []],
    ['the shells', ['keyturn', 'completion', 'z'], ['zsh']],
    ['a command to have help about', ['keyturn', 'help', 'un'], ['unpair', 'unlock']],
    ['nothing for a command that does not exist', ['keyturn', 'nothing', ''], []],
  ])('offers %s in bash', (_what, words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });

  it.runIf(installed.includes('fish'))('offers the values of a setting in fish', () => {
    const script = `source ${path.join(folder, 'fish')}; complete -C 'keyturn settings vault '`;
    expect(
      execFileSync('fish', ['--no-config', '-c', script], { encoding: 'utf8', env: { HOME: folder } }),
    ).toBe('keychain\nmemory\nsealed-file\n');
  });

  it('is bound to keyturn in bash', () => {
    const binding = execFileSync(
      'bash',
      ['--norc', '-c', 'source "$0"; complete -p keyturn', path.join(folder, 'bash')],
      {
        encoding: 'utf8',
      },
    );
    expect(binding).toBe('complete -F _keyturn keyturn\n');
  });

  it('refuses a shell that it has no script for', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [bin, 'completion', 'tcsh'], {
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain('bash, zsh or fish');
  });
});
