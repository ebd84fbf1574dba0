/** The completion script for zsh. */
import type { ValueKind } from '../broker/known-values.ts';
import type { Topic } from '../terminal/command.ts';
import type { Operand, Statement } from '../terminal/statement.ts';
import {
  type Topics,
  type NamedOption,
  helpText,
  top,
  withHelp,
  wordsOf,
  valuesOf,
  offersAfter,
  statementsOf,
  verbsOf,
  verbWord,
  kindOf,
  valueKindOf,
  singleQuoted,
} from './completed-words.ts';

export function zshScript(all: Topics): string {
  return `#compdef keyturn
# Completion of keyturn for zsh. Load it with: eval "$(keyturn completion zsh)"
_keyturn_known() {
  local -a known
  known=(\${(f)"$(keyturn __complete $1 2>/dev/null)"})
  compadd -a known
}
_keyturn_after() {
  local -a words_after
  case "$1:$words[CURRENT-1]" in
${statementsOf(all).flatMap(zshOffersAfter).join('\n')}
  esac
  compadd -a words_after
}
_keyturn() {
  local -a commands
  commands=(
${all.map(({ name, summary }) => `    ${singleQuoted(`${name}:${summary}`)}`).join('\n')}
    'help:${helpText}'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _arguments ${top.map((option) => zshOption(option)).join(' ')}
    return
  fi
  local name=$words[2]
  shift words
  (( CURRENT-- ))
  case $name in
${all.map(zshTopic).join('\n')}
  help) _describe command commands ;;
  esac
}
# As a file of $fpath this is the function's body; anywhere else it defines the function.
if [[ \${funcstack[1]} == _keyturn ]]; then
  _keyturn "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
  compdef _keyturn keyturn
fi
`;
}

function zshTopic(topic: Topic): string {
  const { name, bare } = topic;
  const verbs = verbsOf(topic);
  if (verbs.length === 0)
    return `  ${name}) ${topic.statements.map((one) => `_arguments ${zshArguments(one)}`).join('')} ;;`;
  const listed = verbs.map((one) => singleQuoted(`${verbWord(one)}:${one.summary}`)).join(' ');
  const alone = bare ? `_arguments ${zshArguments(bare)}` : ':';
  const cases = verbs.map(
    (one) => `    ${verbWord(one)}) shift words; (( CURRENT-- )); _arguments ${zshArguments(one)} ;;`,
  );
  return `  ${name})
    local -a verbs
    verbs=(${listed})
    if (( CURRENT == 2 )); then _describe verb verbs; ${alone}; return; fi
    case $words[2] in
${cases.join('\n')}
    *) ${alone} ;;
    esac
    ;;`;
}

function zshArguments(statement: Statement): string {
  const { name } = statement;
  return [
    ...withHelp(statement).map((option) => zshOption(option, valueKindOf(name, option[1]))),
    ...statement.operands.map((operand, index) => zshOperand(name, operand, index)),
  ].join(' ');
}

function zshOption([name, option]: NamedOption, kind?: ValueKind): string {
  const { summary, type, short } = option;
  const text = `--${name}${type === 'string' ? '=' : ''}[${zshText(summary)}]`;
  const value = type === 'boolean' ? '' : `:${zshText(option.value)}:${zshValues(valuesOf(option), kind)}`;
  const repeated = type === 'string' && option.repeatable ? '*' : '';
  const shortText = `-${short}${type === 'string' ? '+' : ''}[${zshText(summary)}]`;
  return [...(short === undefined ? [] : [shortText]), text]
    .map((one) => singleQuoted(`${repeated}${one}${value}`))
    .join(' ');
}

function zshOffersAfter({ name, operands }: Statement): string[] {
  return operands
    .flatMap(offersAfter)
    .map(([before, words]) => `  '${name}':${before}) words_after=(${words}) ;;`);
}

function zshOperand(of: string, operand: Operand, index: number): string {
  const action = operand.offersAfter
    ? ` _keyturn_after "${of}"`
    : zshValues(wordsOf(operand), kindOf(of, operand.name));
  return singleQuoted(`${index + 1}:${zshText(operand.name)}:${action}`);
}

/** An action that begins with a space is run as it is (zshcompsys(1), _arguments). */
function zshValues(values: readonly string[] | undefined, kind: ValueKind | undefined): string {
  if (kind) return ` _keyturn_known ${kind}`;
  return values ? `(${values.join(' ')})` : ' ';
}

/** `:` and `]` end a part of _arguments' language. */
function zshText(text: string): string {
  return text.replaceAll(/[:\]]/g, String.raw`\$&`);
}
