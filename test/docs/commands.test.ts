/** Every command that a page, a hint, a unit file or an installer prints is one that the command table has. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { topics } from '../../src/cli/main.ts';
import type { Statement } from '../../src/cli/terminal/statement.ts';
import { pages, root } from './pages.ts';

const all = await topics();
const common = ['help', 'version'];

const verbs = new Set(
  all.flatMap(({ statements }) => statements.flatMap(({ name }) => name.split(' ').slice(1))),
);

/** `${...}` as one word, so that its quotation marks end nothing. */
function withoutTemplates(text: string): string {
  let inner = text;
  for (let before = ''; before !== inner;) {
    before = inner;
    inner = inner.replaceAll(/\$\{[^{}]*\}/g, 'X');
  }
  return inner;
}

interface Printed {
  readonly words: readonly string[];
  /** It stands where a command does, and continues no sentence. */
  readonly isCommand: boolean;
}

/** The words after each `keyturn`, up to what ends a command: a quotation mark, a sentence, a remark or the line. */
function commandsIn(text: string): Printed[] {
  const found = withoutTemplates(text).matchAll(
    /(^|[`'(] ?|: )?(?<![\w./~-])keyturn(?:\.exe)? (?!keyturn)([a-z][^`'\n<|>#{}]*)/gm,
  );
  return Array.from(found, ([, before, rest = '']) => {
    const [line = ''] = rest.split(/[.;,:)]+(?:\s|$)| {2}| \(|\]\(|…|\\/);
    const words = Array.from(line.matchAll(/"[^"]*"|[^\s"]+/g), ([word]) => word);
    return { words, isCommand: before !== undefined };
  });
}

/** What is wrong with a command line; undefined if nothing is. */
function problemOf({ words, isCommand }: Printed): string | undefined {
  const line = `keyturn ${words.join(' ')}`;
  const [name = '', first = ''] = words;
  const topic = all.find((one) => one.name === name);
  if (!topic) {
    const isSentence = name === 'help' || (!isCommand && !verbs.has(name) && !line.includes(' --'));
    return isSentence ? undefined : `no such command: ${line}`;
  }
  const named = topic.statements.find((one) => one.name === `${name} ${first}`);
  const hasVerbs = topic.statements.length > 1;
  if (hasVerbs && !named && first !== 'VERB' && /^[A-Za-z$"]/.test(first)) return `no such verb: ${line}`;
  const statement = named ?? topic.bare;
  return statement ? optionProblem(statement, words, line) : undefined;
}

function optionProblem({ options, launches }: Statement, words: readonly string[], line: string) {
  const end = launches ? words.indexOf('--') : -1;
  const known = [...Object.keys(options), ...common];
  const letters = Object.values(options).flatMap(({ short }) => short ?? []);
  const wrong = (end < 0 ? words : words.slice(0, end))
    .map((word) => word.replace(/^\[/, '').replace(/[\]=].*$/, ''))
    .find(
      (word) =>
        (/^--[a-z]/.test(word) && !known.includes(word.slice(2))) ||
        (/^-[a-z]$/.test(word) && ![...letters, 'h', 'V'].includes(word.slice(1))),
    );
  return wrong === undefined ? undefined : `no option ${wrong}: ${line}`;
}

const folders = ['src', 'electron', 'renderer', 'words', 'clients', 'scripts', 'demo', 'bench', 'assets'];
const isText = /\.(?:ts|tsx|mjs|html|nsh|py|sh|json|yml)$/;
const sources = folders.flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => isText.test(file) && !file.includes('node_modules'))
    .map((file) => path.join(folder, file)),
);

it('a printed command is one of the command table, with its verb and options', () => {
  const texts = [
    ...sources.map((file) => [file, readFileSync(path.join(root, file), 'utf8')] as const),
    ...pages()
      .filter(({ name }) => name !== 'CHANGELOG.md')
      .map(({ name, text }) => [name, text] as const),
  ];
  const problems = texts.flatMap(([file, text]) =>
    commandsIn(text).flatMap((printed) => {
      const problem = problemOf(printed);
      return problem === undefined ? [] : [`${file}: ${problem}`];
    }),
  );
  expect(problems).toEqual([]);
});
