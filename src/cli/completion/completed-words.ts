/** What the completion scripts of all shells are made of. */
import type { ValueKind } from '../broker/known-values.ts';
import type { Topic } from '../terminal/command.ts';
import { helpOption, shownOptions, topOptions } from '../terminal/statement.ts';
import type { Operand, Option, Statement } from '../terminal/statement.ts';

export type Topics = readonly Topic[];

export type NamedOption = readonly [name: string, option: Option];

export const helpText = 'tell everything about a command';
export const top: readonly NamedOption[] = Object.entries(topOptions);
export const dashed = ([name]: NamedOption): string => `--${name}`;
export const withHelp = (statement: Statement): NamedOption[] => [
  ...shownOptions(statement),
  ['help', helpOption],
];
export const optionWords = (statement: Statement): string => withHelp(statement).map(dashed).join(' ');
export const namesOf = (all: Topics): string => all.map(({ name }) => name).join(' ');
export const wordsOf = ({
  values,
  offers,
}: Pick<Operand, 'values' | 'offers'>): readonly string[] | undefined => values ?? offers;
export const valuesOf = (option: Option): readonly string[] | undefined =>
  option.type === 'string' ? wordsOf(option) : undefined;

/** The words before an operand that decide what it is completed to, each with what that is. */
export const offersAfter = (operand: Operand): [before: string, words: string][] =>
  Object.entries(operand.offersAfter ?? {}).flatMap(([before, words]) =>
    words.length > 0 ? [[before, words.join(' ')]] : [],
  );
export const statementsOf = (all: Topics): Statement[] => all.flatMap(({ statements }) => statements);

/** The verbs of a noun; none for a plain command. */
export const verbsOf = ({ name, statements }: Topic): Statement[] =>
  statements.filter((one) => one.name !== name);
export const verbWord = ({ name }: Statement): string => name.slice(name.indexOf(' ') + 1);
/** How many words the command's name has: its operands follow them. */
export const depthOf = ({ name }: Statement): number => name.split(' ').length;

/** What the help calls an argument, and what a broker knows of that kind. */
export const knownKinds: Readonly<Record<string, ValueKind>> = {
  URL: 'resources',
  'URL|ID': 'resources',
  SERVER: 'resources',
  APP: 'apps',
  ACCOUNT: 'accounts',
};

/** Words that mean something else in other commands: the id of a client, the URL of a metadata document. */
export const kindOf = (of: string, name: string): ValueKind | undefined => {
  if (name === 'ID') return of.startsWith('request ') ? 'requests' : undefined;
  if (name === 'NAME') return of.startsWith('proxy ') ? 'proxies' : undefined;
  if (of === 'oauth-client metadata') return undefined;
  return knownKinds[name];
};

export const valueKindOf = (of: string, option: Option): ValueKind | undefined =>
  option.type === 'string' ? kindOf(of, option.value) : undefined;

/** One word of any of the three shells. */
export function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
