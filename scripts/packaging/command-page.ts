/** The reference page of the commands, made of the statements that `--help` and the man pages show. */
import { optionText, usagesOf } from '../../src/cli/terminal/help.ts';
import { shownOptions, topOptions, type Option, type Statement } from '../../src/cli/terminal/statement.ts';
import type { Topic } from '../../src/cli/terminal/command.ts';
import { exitStatuses } from './manual.ts';

const introduction = `# Commands

\`keyturn help COMMAND\` says the same as this page.

- URL is the address of an MCP server, as you know it. APP is the name or the id of a paired app; the command line itself is the app \`cli\`. ISSUER is the URL of an authorization server.
- You can shorten an id to its first four characters, or more if several begin with them.
- Durations are written \`30m\`, \`8h\` or \`2d\`.
- The answer goes to standard output, and everything else to standard error. With \`--json\` the answer is JSON, on one line unless it goes to a terminal.
- The first command that needs a broker starts one in the background. \`status\`, \`doctor\`, \`lock\`, \`broker stop\` and \`completion\` start none themselves.
- While the Keyturn app runs, a command that grants access waits for your approval on a card. Without your approval, the command exits with 4.
- A refusal says what happened and what to do, and ends with its [reason](errors.md).`;

/** One page for all commands, a part for each. */
export function commandPage(topics: readonly Topic[]): string {
  const rows = topics.map(({ name, summary }) => `| [\`${name}\`](#keyturn-${name}) | ${summary} |`);
  const codes = Object.entries(exitStatuses).map(([code, means]) => `| ${code} | ${means} |`);
  return `${joined([
    introduction,
    table('command', 'what it does', rows),
    optionList(Object.entries(topOptions)),
    '## Exit codes',
    table('code', 'meaning', codes),
    ...topics.map(partOf),
  ])}\n`;
}

/** A verb alone, or a noun with a part for each of its verbs. */
function partOf({ name, statements }: Topic): string {
  const own = statements.find((one) => one.name === name);
  const verbs = statements.filter((one) => one !== own);
  return joined([
    own ? commandPart('##', own) : `## keyturn ${name}`,
    ...verbs.map((statement) => commandPart('###', statement)),
  ]);
}

function commandPart(level: string, statement: Statement): string {
  if (statement.name === 'sign-in revoke')
    return `${level} keyturn sign-in revoke\n\nThe same as [\`keyturn logout\`](#keyturn-logout).`;
  const { name, about, terms = {}, notes = [], environment, exitCodes = {}, examples } = statement;
  const usage = usagesOf(statement).map((line) => `keyturn ${line}`);
  const variables = environment?.variables.map((one) => `\`${one}\``).join(', ') ?? '';
  const codes = Object.entries(exitCodes).map(([code, meaning]) => `${code} ${meaning}`);
  const meanings = Object.entries(terms).map(([term, means]) => `- \`${term}\`: ${escaped(means)}`);
  return joined([
    `${level} keyturn ${name}`,
    block(usage),
    escaped(about),
    meanings.join('\n'),
    optionList(shownOptions(statement).filter(([one]) => one !== 'json' || !/\[-j\]/.test(usage.join()))),
    ...notes.map(escaped),
    environment ? `${escaped(environment.about)} ${variables}` : '',
    codes.length === 1 ? `Exit code: ${escaped(codes.join())}.` : '',
    // A line with one option says no more than the usage does.
    block(examples.filter((line) => / -.* -|[|>"]/.test(line.replace(/ --json$/, '')))),
  ]);
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n\n');

const block = (lines: readonly string[]): string =>
  lines.length === 0 ? '' : `\`\`\`sh\n${lines.join('\n')}\n\`\`\``;

const table = (left: string, right: string, rows: readonly string[]): string =>
  [`| ${left} | ${right} |`, '| --- | --- |', ...rows].join('\n');

const optionList = (options: readonly (readonly [string, Option])[]): string =>
  options
    .map(([name, option]) => {
      const short = option.short === undefined ? '' : `\`-${option.short}\`, `;
      const said =
        name === 'json' ? (option.more?.replace('; ', '') ?? '') : `${option.summary}${option.more ?? ''}`;
      const words = said && `: ${escaped(said)}`;
      return `- ${short}\`${optionText(name, option)}\`${words}`;
    })
    .join('\n');

/** A bracket would begin HTML. A page that help names is a link here. */
const escaped = (words: string): string =>
  words
    .replaceAll('<', '&lt;')
    .replaceAll(/docs\/((?:[\w-]+\/)*([\w-]+\.md))/g, (_all, page: string, name: string) => {
      const place = page.startsWith('reference/') ? name : `../${page}`;
      return `[${name}](${place})`;
    });
