/**
 * Help texts, made of the commands' statements.
 *
 * Invariant: no line is wider than 80 columns, but for examples and words that are longer themselves.
 */
import { helpOption, shownOptions } from './statement.ts';
import type { Option, Statement } from './statement.ts';

const width = 80;

/** The text of `keyturn COMMAND --help`. */
export function helpOf(statement: Statement): string {
  const { about, terms = {}, notes = [], environment, exitCodes, examples } = statement;
  const codes = Object.entries(exitCodes ?? {}).map(([code, meaning]) => `${code} ${meaning}`);
  const parts = [
    `${usageLines(statement).join('\n')}\n${wrapped(about)}`,
    columns(Object.entries(terms)),
    optionList(statement),
    ...notes.map((note) => wrapped(note)),
    environment ? `${wrapped(environment.about)}\n${wrapped(environment.variables.join(', '), '  ')}` : '',
    codes.length > 0 ? wrapped(`Exit codes: ${codes.join(', ')}.`) : '',
    `${examples.length > 1 ? 'Examples' : 'Example'}:\n${examples.map((line) => line.replaceAll(/^/gm, '  ')).join('\n')}`,
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

/** The lines of the overview for all commands: what each takes, and what it is for. */
export function overviewLines(statements: readonly Statement[]): string {
  return columns(
    statements.map(({ name, operands, summary }) => [`${name} ${operandsText(operands)}`.trim(), summary]),
    25,
  );
}

function usageLines(statement: Statement): string[] {
  return usagesOf(statement).map((line, index) => `${index === 0 ? 'Usage:' : '      '} keyturn ${line}`);
}

/** What may stand after `keyturn`, a line for each form. */
export function usagesOf({ name, usage, operands, options }: Statement): readonly string[] {
  const all = Object.entries(options);
  const [only] = all;
  const given = all.length === 1 && only?.[1].type === 'boolean' ? `[--${only[0]}]` : '[OPTION]...';
  const made = [name, operandsText(operands), all.length === 0 ? '' : given].filter((word) => word !== '');
  return usage ?? [made.join(' ')];
}

/** `CLIENT RESOURCE`, `[NAME [VALUE]]`. */
export function operandsText(operands: Statement['operands']): string {
  return operands.reduceRight((rest, { name, optional, repeatable }) => {
    const shown = repeatable ? `${name}...` : name;
    const words = rest === '' ? shown : `${shown} ${rest}`;
    return optional ? `[${words}]` : words;
  }, '');
}

function optionList(statement: Statement): string {
  const rows = shownOptions(statement).map(([name, option]): [string, string] => [
    `    ${optionText(name, option)}`,
    `${option.summary}${option.more ?? ''}`,
  ]);
  return columns([...rows, ['-h, --help', helpOption.summary]]);
}

/** `--json`, `--account ACCOUNT`. */
export function optionText(name: string, option: Option): string {
  return option.type === 'boolean' ? `--${name}` : `--${name} ${option.value}`;
}

/** Two columns. A left one that is wider than `most` has a line to itself. */
function columns(rows: readonly (readonly [left: string, right: string])[], most = width): string {
  const lefts = rows.map(([left]) => left.length);
  const left = most === width ? Math.max(0, ...lefts) : most - 2;
  const indent = ' '.repeat(left + 4);
  return rows
    .map(([name, text]) => {
      const right = wrapped(text, indent);
      return name.length > left
        ? `  ${name}\n${right}`
        : `  ${name.padEnd(left)}  ${right.slice(indent.length)}`;
    })
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
