/**
 * Help texts, made of the commands' statements: the short one fits on a screen, the full one has everything.
 *
 * Invariant: no line is wider than 80 columns, but for examples and words that are longer themselves.
 */
import { helpOption, type Option, shownOptions, type Statement } from './statement.ts';
import type { Topic } from './command.ts';

const width = 80;

/** The text of `keyturn COMMAND --help`. */
export function helpOf(statement: Statement): string {
  const { name, about, terms = {}, examples } = statement;
  return joined([
    `${usageLines([statement]).join('\n')}\n${wrapped(about)}`,
    columns(Object.entries(terms)),
    optionList(statement, ({ summary }) => summary),
    exampleLines(examples.slice(0, 2)),
    `More: keyturn help ${name}`,
  ]);
}

/** The text of `keyturn NOUN --help`. */
export function nounHelp({ name, summary, statements }: Topic): string {
  const own = statements.find((one) => one.name === name);
  const verbs = statements.filter((one) => one !== own);
  return joined([
    `${usageLines(statements).join('\n')}\n${wrapped(`${summary}.`)}`,
    columns(verbs.map((one) => [one.name.slice(name.length + 1), one.summary])),
    own ? optionList(own, (option) => option.summary) : '',
    exampleLines(statements.flatMap(({ examples }) => examples.slice(0, 1)).slice(0, 2)),
    `More: keyturn ${name} VERB --help, keyturn help ${name}`,
  ]);
}

/** The text of `keyturn help COMMAND`, which the man page has too. */
export function fullHelpOf(statement: Statement): string {
  const { about, terms = {}, notes = [], environment, exitCodes, examples } = statement;
  const codes = Object.entries(exitCodes ?? {}).map(([code, meaning]) => `${code} ${meaning}`);
  return joined([
    `${usageLines([statement]).join('\n')}\n${wrapped(about)}`,
    columns(Object.entries(terms)),
    optionList(statement, ({ summary, more = '' }) => `${summary}${more}`),
    ...notes.map((note) => wrapped(note)),
    environment ? `${wrapped(environment.about)}\n${wrapped(environment.variables.join(', '), '  ')}` : '',
    codes.length > 0 ? wrapped(`Exit codes: ${codes.join(', ')}.`) : '',
    exampleLines(examples),
  ]);
}

const joined = (parts: readonly string[]): string => `${parts.filter((part) => part !== '').join('\n\n')}\n`;

function exampleLines(examples: readonly string[]): string {
  const lines = examples.map((line) => line.replaceAll(/^/gm, '  '));
  return `${examples.length > 1 ? 'Examples' : 'Example'}:\n${lines.join('\n')}`;
}

interface Group {
  readonly title: string;
  readonly topics: readonly Pick<Topic, 'name' | 'summary'>[];
}

/** The commands of the overview, in their groups, and what each is for. */
export function overviewLines(groups: readonly Group[]): string {
  const longest = Math.max(...groups.flatMap(({ topics }) => topics.map(({ name }) => name.length)));
  return groups
    .map(({ title, topics }) => {
      const rows = topics.map(({ name, summary }) => [name.padEnd(longest), summary] as const);
      return `${title}\n${columns(rows)}`;
    })
    .join('\n\n');
}

function usageLines(statements: readonly Statement[]): string[] {
  return statements
    .flatMap(usagesOf)
    .map((line, index) => `${index === 0 ? 'Usage:' : '      '} keyturn ${line}`);
}

/** What may be after `keyturn`, a line for each form. */
export function usagesOf({ name, usage, operands, options }: Statement): readonly string[] {
  const all = Object.entries(options);
  const flags = all.filter(([, option]) => option.type === 'boolean' && option.short !== undefined);
  const given =
    flags.length === all.length ? flags.map(([, { short }]) => `[-${short}]`).join(' ') : '[OPTION]...';
  const made = [name, operandsText(operands), all.length === 0 ? '' : given].filter((word) => word !== '');
  return usage ?? [made.join(' ')];
}

/** `APP URL`, `[NAME [VALUE]]`. */
export function operandsText(operands: Statement['operands']): string {
  return operands.reduceRight((rest, { name, optional, repeatable }) => {
    const shown = repeatable ? `${name}...` : name;
    const words = rest === '' ? shown : `${shown} ${rest}`;
    return optional ? `[${words}]` : words;
  }, '');
}

function optionList(statement: Statement, say: (option: Option) => string): string {
  const all = [...shownOptions(statement), ['help', helpOption] as const];
  return columns(
    all.map(([name, option]): [string, string] => [
      `${option.short === undefined ? '    ' : `-${option.short}, `}${optionText(name, option)}`,
      say(option),
    ]),
  );
}

/** `--json`, `--account ACCOUNT`. */
export function optionText(name: string, option: Option): string {
  return option.type === 'boolean' ? `--${name}` : `--${name} ${option.value}`;
}

/** Two columns. */
function columns(rows: readonly (readonly [left: string, right: string])[]): string {
  const left = Math.max(0, ...rows.map(([name]) => name.length));
  const indent = ' '.repeat(left + 4);
  return rows
    .map(([name, text]) => `  ${name.padEnd(left)}  ${wrapped(text, indent).slice(indent.length)}`)
    .join('\n');
}

/** Broken at spaces, but for those of a command in backticks. */
function wrapped(text: string, indent = ''): string {
  const words = text.match(/`[^`]*`[^\s`]*|[^\s`]+(?:`[^`]*`[^\s`]*)?/g) ?? [];
  const lines: string[] = [];
  let line = indent;
  for (const word of words) {
    const longer = line === indent ? `${line}${word}` : `${line} ${word}`;
    if (longer.length <= width || line === indent) line = longer;
    else {
      lines.push(line);
      line = `${indent}${word}`;
    }
  }
  return [...lines, line].join('\n');
}
