/** The completion script for fish. */
import type { ValueKind } from '../broker/known-values.ts';
import type { Topic } from '../terminal/command.ts';
import type { Operand, Statement } from '../terminal/statement.ts';
import {
  type Topics,
  type NamedOption,
  helpText,
  top,
  withHelp,
  namesOf,
  wordsOf,
  valuesOf,
  offersAfter,
  verbsOf,
  verbWord,
  kindOf,
  valueKindOf,
  singleQuoted,
} from './completed-words.ts';

export function fishScript(all: Topics): string {
  const lines = [
    '# Completion of keyturn for fish. Load it with: keyturn completion fish | source',
    'complete -c keyturn -f',
    ...top.map((option) => `complete -c keyturn -n __fish_use_subcommand ${fishOption(option)}`),
    ...all.map(
      ({ name, summary }) =>
        `complete -c keyturn -n __fish_use_subcommand -a ${name} -d ${singleQuoted(summary)}`,
    ),
    `complete -c keyturn -n __fish_use_subcommand -a help -d '${helpText}'`,
    ...all.flatMap(fishTopic),
    `complete -c keyturn -n '__fish_seen_subcommand_from help' -a '${namesOf(all)}'`,
  ];
  return `${lines.join('\n')}\n`;
}

function fishTopic(topic: Topic): string[] {
  const { name, bare } = topic;
  const verbs = verbsOf(topic);
  if (verbs.length === 0)
    return topic.statements.flatMap((one) => fishCommand(one, `__fish_seen_subcommand_from ${name}`));
  const isNoun = `__fish_seen_subcommand_from ${name}`;
  const words = verbs.map(verbWord).join(' ');
  const isAlone = `${isNoun}; and not __fish_seen_subcommand_from ${words}`;
  return [
    ...verbs.map(
      (one) => `complete -c keyturn -n '${isAlone}' -a ${verbWord(one)} -d ${singleQuoted(one.summary)}`,
    ),
    ...(bare ? fishCommand(bare, isAlone) : []),
    ...verbs.flatMap((one) =>
      fishCommand(one, `${isNoun}; and __fish_seen_subcommand_from ${verbWord(one)}`),
    ),
  ];
}

function fishCommand(statement: Statement, when: string): string[] {
  const condition = `complete -c keyturn -n '${when}'`;
  return [
    ...withHelp(statement).map(
      (option) => `${condition} ${fishOption(option, valueKindOf(statement.name, option[1]))}`,
    ),
    ...statement.operands.flatMap((operand) => fishOperand(statement.name, operand, when)),
  ];
}

function fishOperand(of: string, operand: Operand, when: string): string[] {
  const kind = kindOf(of, operand.name);
  const values = wordsOf(operand);
  const others = operand.offers ? `; and not __fish_seen_subcommand_from ${operand.offers.join(' ')}` : '';
  return [
    ...(values || kind ? [`complete -c keyturn -n '${when}${others}' -a '${fishSource(values, kind)}'`] : []),
    ...offersAfter(operand).map(
      ([before, words]) => `complete -c keyturn -n '${when}; and __fish_prev_arg_in ${before}' -a '${words}'`,
    ),
  ];
}

const fishSource = (values: readonly string[] | undefined, kind: ValueKind | undefined): string =>
  kind ? `(keyturn __complete ${kind} 2>/dev/null)` : (values ?? []).join(' ');

function fishOption([name, option]: NamedOption, kind?: ValueKind): string {
  const values = valuesOf(option);
  const source = values || kind ? ` -a '${fishSource(values, kind)}'` : '';
  const takes = option.type === 'boolean' ? '' : ` -x${source}`;
  const short = option.short === undefined ? '' : `-s ${option.short} `;
  return `${short}-l ${name}${takes} -d ${singleQuoted(option.summary)}`;
}
