/**
 * The man pages: one for `keyturn`, and one for each command, made of the statements that `--help` shows.
 *
 * Invariant: text of a statement never becomes a request or an escape of roff.
 */
import { operandsText, optionText, usagesOf } from '../../src/cli/terminal/help.ts';
import { helpOption, shownOptions, topOptions } from '../../src/cli/terminal/statement.ts';
import type { Option, Statement } from '../../src/cli/terminal/statement.ts';

export interface Edition {
  readonly version: string;
  /** Of the page's foot, e.g. `2026-11-23`. */
  readonly date: string;
}

/** Pages by file name, e.g. `keyturn-token.1`. */
export function manualPages(statements: readonly Statement[], edition: Edition): Map<string, string> {
  return new Map([
    ['keyturn.1', overview(statements, edition)],
    ...statements.map((one) => [`${pageName(one)}.1`, pageOf(one, edition)] as const),
  ]);
}

/** `keyturn-app-allow`. */
const pageName = ({ name }: Statement): string => `keyturn-${name.replaceAll(' ', '-')}`;

function pageOf(statement: Statement, edition: Edition): string {
  const { summary, about, terms = {}, notes = [], environment, exitCodes = {}, examples } = statement;
  const options: [string, Option][] = [...shownOptions(statement), ['help', helpOption]];
  return page([
    title(pageName(statement), edition),
    section('NAME', `${text(pageName(statement))} \\- ${text(summary)}`),
    section('SYNOPSIS', usagesOf(statement).map(synopsis).join('\n.br\n')),
    section(
      'DESCRIPTION',
      paragraph(about),
      ...Object.entries(terms).map(([term, means]) => item(bold(term), means)),
    ),
    section('OPTIONS', ...options.map(([option, stated]) => optionItem(option, stated))),
    notes.length > 0 ? section('NOTES', notes.map(paragraph).join('\n.PP\n')) : '',
    environment
      ? section('ENVIRONMENT', paragraph(environment.about), ...environment.variables.map(variableItem))
      : '',
    section(
      'EXIT STATUS',
      ...Object.entries(exitCodes).map(([code, meaning]) => item(bold(code), meaning)),
      `.PP\n${text('keyturn')}(1) lists the codes of all commands.`,
    ),
    section(
      'EXAMPLES',
      `.EX\n${examples
        .flatMap((one) => one.split('\n'))
        .map(line)
        .join('\n')}\n.EE`,
    ),
    section('SEE ALSO', '.BR keyturn (1)'),
  ]);
}

/** docs/reference/cli.md is made of it too. */
export const exitStatuses: Readonly<Record<string, string>> = {
  0: 'done',
  1: 'internal error',
  2: "usage: the request can't be understood or names something that isn't there",
  3: 'you are needed: a permission or a sign-in',
  4: 'denied',
  5: 'the sign-in failed, or a rule forbids it',
  6: "a server can't be reached, or wants us to wait",
  7: 'the vault or a file is locked or unreadable, or all access is paused',
  8: "no broker, or it can't be trusted",
  9: '`keyturn doctor` found a problem or a warning, or `keyturn setup` left something to do',
  130: 'interrupted',
};

const folders: Readonly<Record<string, string>> = {
  '~/.config/keyturn': 'Settings, the key of the owner and the keys of paired apps.',
  '~/.local/state/keyturn': 'What is allowed, where you are signed in, the audit log, the log.',
  '$XDG_RUNTIME_DIR/keyturn': 'The socket.',
};

function overview(statements: readonly Statement[], edition: Edition): string {
  const commands = statements.map((one) =>
    item(`${bold(pageName(one))}(1) ${text(operandsText(one.operands))}`.trimEnd(), one.summary),
  );
  return page([
    title('keyturn', edition),
    section('NAME', 'keyturn \\- token broker for MCP clients'),
    section('SYNOPSIS', `${synopsis('COMMAND [ARGUMENT]...')}\n.br\n${synopsis('COMMAND --help')}`),
    section(
      'DESCRIPTION',
      paragraph(
        'Keyturn signs in to each MCP server once, keeps the tokens in the keychain, refreshes them, and gives short-lived access tokens to the apps that you allow. URL is the endpoint URL of an MCP server. The first command that needs a broker starts one in the background.',
      ),
    ),
    section('COMMANDS', ...commands),
    section('OPTIONS', ...Object.entries(topOptions).map(([option, stated]) => optionItem(option, stated))),
    section('EXIT STATUS', ...Object.entries(exitStatuses).map(([code, means]) => item(bold(code), means))),
    section(
      'ENVIRONMENT',
      item(bold('KEYTURN_HOME'), 'Keeps the whole home in this folder: config, state and run.'),
      `.PP\n${text('keyturn-broker-run')}(1) lists the variables of a broker.`,
    ),
    section('FILES', ...Object.entries(folders).map(([folder, holds]) => item(italic(folder), holds))),
    section(
      'EXAMPLES',
      `.EX\n${['keyturn setup', 'keyturn token https://notes.example/mcp'].map(line).join('\n')}\n.EE`,
    ),
  ]);
}

function title(name: string, { version, date }: Edition): string {
  return `.TH ${text(name.toUpperCase())} 1 ${text(date)} "Keyturn ${text(version)}" "Keyturn"\n.nh\n.ad l`;
}

const page = (parts: readonly string[]): string => `${parts.filter((part) => part !== '').join('\n')}\n`;

const section = (name: string, ...parts: readonly string[]): string => [`.SH ${name}`, ...parts].join('\n');

const item = (term: string, means: string): string => `.TP\n${term}\n${paragraph(means)}`;

const optionItem = (name: string, option: Option): string =>
  item(
    name === 'help' ? `${bold('-h')}, ${bold('--help')}` : optionTerm(optionText(name, option)),
    `${option.summary}${option.more ?? ''}`,
  );

function optionTerm(shown: string): string {
  const [option = '', ...value] = shown.split(' ');
  return value.length === 0 ? bold(option) : `${bold(option)} ${italic(value.join(' '))}`;
}

/** `NAME=a|b`, or a name with words behind it. */
function variableItem(variable: string): string {
  const [, name = '', rest = ''] = /^(\S+)\s*(.*)$/.exec(variable) ?? [];
  return rest === '' ? `.TP\n${bold(name)}` : item(bold(name), rest);
}

const synopsis = (usage: string): string => {
  const [name = '', ...rest] = usage.split(' ');
  return `${bold('keyturn')} ${name === 'COMMAND' ? text(name) : bold(name)} ${text(rest.join(' '))}`.trimEnd();
};

const bold = (words: string): string => `\\fB${text(words)}\\fR`;
const italic = (words: string): string => `\\fI${text(words)}\\fR`;

/** Commands in backticks are bold. */
function paragraph(words: string): string {
  const shown = words.replaceAll(/`([^`]*)`|[^`]+/g, (all, command?: string) =>
    command === undefined ? text(all) : bold(command),
  );
  return guarded(shown);
}

/** A line as it stands. */
const line = (words: string): string => guarded(text(words));

/** A dot or an apostrophe at the beginning of a line would be a request. */
const guarded = (shown: string): string => (/^[.']/.test(shown) ? `\\&${shown}` : shown);

const escapes: Readonly<Record<string, string>> = {
  '\\': '\\e',
  '-': '\\-',
  "'": '\\(aq',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '"': '\\(dq',
};

/** As it is shown: no character keeps a meaning of its own. */
function text(words: string): string {
  return words.replaceAll(/[\\\-'`^~"]|[^\x20-\x7e]/gu, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return escapes[character] ?? (character === '\n' ? ' ' : `\\[u${hex}]`);
  });
}
