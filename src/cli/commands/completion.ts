/**
 * `keyturn completion SHELL`: prints a completion script. All three are made from all.ts.
 *
 * Invariant: the scripts complete words of the statements only. They never run keyturn: a press of the
 * tab key starts no process and no broker, and shows no server's name.
 */
import { exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../terminal/command.ts';
import { helpOption, shownOptions, topOptions } from '../terminal/statement.ts';
import type { Operand, Option, Statement } from '../terminal/statement.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

export const command = defineCommand(
  {
    name: 'completion',
    summary: 'a completion script for bash, zsh or fish',
    operands: [{ name: 'bash|zsh|fish', values: shells }],
    options: {},
    about:
      'Print a completion script for a shell. It completes commands, options and fixed words; it never runs keyturn.',
    examples: [
      'eval "$(keyturn completion bash)"   # in ~/.bashrc',
      'eval "$(keyturn completion zsh)"    # in ~/.zshrc, after compinit',
      'keyturn completion fish > ~/.config/fish/completions/keyturn.fish',
    ],
  },
  async ({ operands: [shell] }, all) => {
    process.stdout.write(scripts[shell](await all()));
    return exitCodes.ok;
  },
);

type Statements = readonly Statement[];

const scripts: Readonly<Record<(typeof shells)[number], (all: Statements) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

type Named = readonly [name: string, option: Option];

const helpText = 'show how a command is used';
const top: readonly Named[] = Object.entries(topOptions);
const dashed = ([name]: Named): string => `--${name}`;
const withHelp = (statement: Statement): Named[] => [...shownOptions(statement), ['help', helpOption]];
const namesOf = (all: Statements): string => all.map(({ name }) => name).join(' ');
const valuesOf = (option: Option): readonly string[] | undefined =>
  option.type === 'string' ? option.values : undefined;

/** Written for bash 3.2, which macOS has: no mapfile, no associative arrays. */
function bashScript(all: Statements): string {
  return `# Completion of keyturn for bash. Load it with: eval "$(keyturn completion bash)"
_keyturn() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${[namesOf(all), 'help', ...top.map(dashed)].join(' ')}'
  else
    # What an option takes comes before anything else that could stand here.
    case "\${COMP_WORDS[1]}:$before" in
${all.flatMap(bashValues).join('\n')}
    *)
      case "\${COMP_WORDS[1]}:$COMP_CWORD" in
${all.flatMap(bashOperands).join('\n')}
      help:2) words='${namesOf(all)}' ;;
      esac
      case "\${COMP_WORDS[1]}" in
${all.map((one) => `      ${one.name}) words="$words ${withHelp(one).map(dashed).join(' ')}" ;;`).join('\n')}
      esac
      ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _keyturn keyturn
`;
}

function bashValues(statement: Statement): string[] {
  return shownOptions(statement)
    .filter(([, { type }]) => type === 'string')
    .map(
      ([name, option]) => `    ${statement.name}:--${name}) words='${(valuesOf(option) ?? []).join(' ')}' ;;`,
    );
}

/** A fixed word stands before the options: its place is its index. */
function bashOperands({ name, operands }: Statement): string[] {
  return operands.flatMap(({ values }, index) =>
    values ? [`      ${name}:${index + 2}) words='${values.join(' ')}' ;;`] : [],
  );
}

function zshScript(all: Statements): string {
  return `#compdef keyturn
# Completion of keyturn for zsh. Load it with: eval "$(keyturn completion zsh)"
_keyturn() {
  local -a commands
  commands=(
${all.map(({ name, summary }) => `    ${singleQuoted(`${name}:${summary}`)}`).join('\n')}
    'help:${helpText}'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _arguments ${top.map(zshOption).join(' ')}
    return
  fi
  local name=$words[2]
  shift words
  (( CURRENT-- ))
  case $name in
${all.map((one) => `  ${one.name}) _arguments ${zshArguments(one)} ;;`).join('\n')}
  help) _describe command commands ;;
  esac
}
# As a file of $fpath this is the function's body; anywhere else it defines the function.
if [[ \${funcstack[1]} == _keyturn ]]; then
  _keyturn "$@"
else
  compdef _keyturn keyturn
fi
`;
}

function zshArguments(statement: Statement): string {
  return [...withHelp(statement).map(zshOption), ...statement.operands.map(zshOperand)].join(' ');
}

function zshOption([name, option]: Named): string {
  const { summary, type } = option;
  const text = `--${name}${type === 'string' ? '=' : ''}[${zshText(summary)}]`;
  if (type === 'boolean') return singleQuoted(text);
  return singleQuoted(
    `${option.repeatable ? '*' : ''}${text}:${zshText(option.value)}:${zshValues(option.values)}`,
  );
}

function zshOperand({ name, values }: Operand, index: number): string {
  return singleQuoted(`${index + 1}:${zshText(name)}:${zshValues(values)}`);
}

const zshValues = (values: readonly string[] | undefined): string => (values ? `(${values.join(' ')})` : ' ');

/** `:` and `]` end a part of _arguments' language. */
function zshText(text: string): string {
  return text.replaceAll(/[:\]]/g, String.raw`\$&`);
}

function fishScript(all: Statements): string {
  const lines = [
    '# Completion of keyturn for fish. Load it with: keyturn completion fish | source',
    'complete -c keyturn -f',
    ...top.map((option) => `complete -c keyturn -n __fish_use_subcommand ${fishOption(option)}`),
    ...all.map(
      ({ name, summary }) =>
        `complete -c keyturn -n __fish_use_subcommand -a ${name} -d ${singleQuoted(summary)}`,
    ),
    `complete -c keyturn -n __fish_use_subcommand -a help -d '${helpText}'`,
    ...all.flatMap(fishCommand),
    `complete -c keyturn -n '__fish_seen_subcommand_from help' -a '${namesOf(all)}'`,
  ];
  return `${lines.join('\n')}\n`;
}

function fishCommand(statement: Statement): string[] {
  const condition = `complete -c keyturn -n '__fish_seen_subcommand_from ${statement.name}'`;
  return [
    ...withHelp(statement).map((option) => `${condition} ${fishOption(option)}`),
    ...statement.operands.flatMap(({ values }) => (values ? [`${condition} -a '${values.join(' ')}'`] : [])),
  ];
}

function fishOption([name, option]: Named): string {
  const values = valuesOf(option);
  const takes = option.type === 'boolean' ? '' : ` -x${values ? ` -a '${values.join(' ')}'` : ''}`;
  return `-l ${name}${takes} -d ${singleQuoted(option.summary)}`;
}

/** One word of any of the three shells. */
function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
