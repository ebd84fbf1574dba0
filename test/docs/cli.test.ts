/** Help texts, grammar, reference page and completion scripts say the same of every command. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grammar, shells, topFlags } from '../../src/cli/terminal/grammar.ts';
import type { CommandGrammar } from '../../src/cli/terminal/grammar.ts';
import { page, root, section, tableRows } from './pages.ts';

const bin = path.join(root, 'src', 'cli', 'bin.ts');
const keyturn = (...args: string[]): string =>
  execFileSync(process.execPath, [bin, ...args], { encoding: 'utf8' });

const usage = keyturn('--help');
const helps = new Map<string, string>();
for (const { name } of grammar) helps.set(name, await helpIn(name));
const helpOf = ({ name }: CommandGrammar): string => helps.get(name) ?? '';
const commands = grammar.map((entry): [string, CommandGrammar] => [entry.name, entry]);

/** The help text in a command's own file; the lean `token` exports it alone. */
async function helpIn(name: string): Promise<string> {
  const file = (await import(`../../src/cli/commands/${name}.ts`)) as {
    help?: string;
    command?: { help: string };
  };
  return file.command?.help ?? file.help ?? '';
}

/** The flags that a help text lists, each with the name of its value and what is said of it. */
function flagsIn(help: string): { name: string; value: string | undefined; summary: string }[] {
  return [...help.matchAll(/^ {2,6}(?:-\w, )?--([a-z-]+)(?: ("A B"|[A-Z0-9|]+))? +(.*)$/gm)].map(
    ([, name = '', value, summary = '']) => ({ name, value, summary }),
  );
}

describe('the grammar', () => {
  it('has the commands of `keyturn --help`, with the same words about each', () => {
    // Where the operands fill the column, the summary stands on the next line.
    const line = /^ {2}([a-z][a-z-]*) ((?:[A-Z|a-z]+ )*(?:[A-Z|a-z]+(?=\n))?)\n? +(\S.*)$/gm;
    const listed = [...usage.matchAll(line)].map(([, name = '', operands = '', summary = '']) => ({
      name,
      operands: operands.trim(),
      summary,
    }));
    const stated = grammar.map(({ name, summary, operands }) => ({
      name,
      operands: operands.map((operand) => operand.name).join(' '),
      summary,
    }));
    expect(stated).toEqual(listed);
  });

  it.each(commands)('has the flags of `keyturn %s --help`', (_name, entry) => {
    const listed = flagsIn(helpOf(entry)).filter(({ name }) => name !== 'help');
    // `keyturn status [--json]` and the like show a flag in the usage line as well; the list is what counts.
    expect(entry.flags.map(({ name, value }) => ({ name, value }))).toEqual(
      listed.map(({ name, value }) => ({ name, value })),
    );
    for (const [index, flag] of entry.flags.entries()) {
      expect(listed[index]?.summary.startsWith(flag.summary), flag.name).toBe(true);
    }
  });
});

describe('docs/cli.md', () => {
  it.each(commands)('has the usage and every flag of keyturn %s', (name, entry) => {
    const text = section(page('docs/cli.md'), `keyturn ${name}`);
    const [, usageLine = ''] = /^Usage: (.*)$/m.exec(helpOf(entry)) ?? [];
    expect(text).toContain(`\n${usageLine}\n`);
    const rows = tableRows(text).slice(2);
    const documented = rows.map(([cell = '']) => cell.replaceAll('`', ''));
    expect(documented).toEqual(
      entry.flags.map((flag) => `--${flag.name}${flag.value === undefined ? '' : ` ${flag.value}`}`),
    );
  });

  it('has a section for no other command', () => {
    const titles = [...page('docs/cli.md').text.matchAll(/^## keyturn (.*)$/gm)].map(([, name]) => name);
    expect(titles).toEqual(grammar.map(({ name }) => name));
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

  it.each(shells)('for %s has every command and every flag', (shell) => {
    const script = scripts.get(shell) ?? '';
    const dashes = shell === 'fish' ? '-l ' : '--';
    for (const { name, flags } of grammar) {
      expect(script).toMatch(new RegExp(String.raw`\b${name}\b`));
      for (const flag of flags) expect(script).toMatch(new RegExp(`${dashes}${flag.name}(?![\\w-])`));
    }
    for (const flag of topFlags) expect(script).toContain(`${dashes}${flag.name}`);
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
    ['a flag of the command', ['keyturn', 'token', '--min'], ['--min-validity']],
    ['no flag of another command', ['keyturn', 'list', '--min'], []],
    ['the values of a flag', ['keyturn', 'token', '--status', ''], ['401', '403']],
    ['nothing where a flag takes free text', ['keyturn', 'token', '--scope', ''], []],
    [
      'the answers to a question',
      ['keyturn', 'answer', '1a2b3c4d', ''],
      ['yes', 'no', 'later', '--once', '--this-run', '--for', '--scope', '--help'],
    ],
    ['no answer in place of the id', ['keyturn', 'answer', 'y'], []],
    ['the shells', ['keyturn', 'completion', 'z'], ['zsh']],
    ['a command to have help about', ['keyturn', 'help', 'un'], ['unpair', 'unlock']],
    ['nothing for a command that does not exist', ['keyturn', 'nothing', ''], []],
  ])('offers %s in bash', (_what, words, expected) => {
    expect(offered(...words)).toEqual(expected);
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
