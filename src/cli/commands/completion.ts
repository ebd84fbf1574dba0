/**
 * `keyturn completion SHELL`: prints a completion script. All three are made from grammar.ts.
 *
 * Invariant: the scripts complete words of the grammar only. They never run keyturn: a press of the
 * tab key starts no process and no broker, and shows no server's name.
 */
import { exitCodes, quoted } from '../../base/errors.ts';
import { parse, usage } from '../terminal/arguments.ts';
import type { Command } from '../broker/command.ts';
import { grammar, helpFlag, shells, topFlags } from '../terminal/grammar.ts';
import type { CommandGrammar, Flag, Operand } from '../terminal/grammar.ts';

const help = `Usage: keyturn completion bash|zsh|fish
Print a completion script for a shell. It completes commands, flags and fixed
words; it never runs keyturn.

  -h, --help  show this

Examples:
  eval "$(keyturn completion bash)"   in ~/.bashrc
  eval "$(keyturn completion zsh)"    in ~/.zshrc, after compinit
  keyturn completion fish > ~/.config/fish/completions/keyturn.fish
`;

export const command: Command = {
  help,
  async run(args) {
    const { positionals } = parse(args, {}, { names: ['SHELL'], command: 'completion' });
    const shell = shells.find((name) => name === positionals[0]);
    if (!shell)
      throw usage(`the shell is bash, zsh or fish, not ${quoted(positionals[0] ?? '')}`, 'completion');
    process.stdout.write(scripts[shell]());
    return exitCodes.ok;
  },
};

const scripts: Readonly<Record<(typeof shells)[number], () => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

const commandNames = grammar.map(({ name }) => name);
const dashed = ({ name }: Flag): string => `--${name}`;
const withHelp = ({ flags }: CommandGrammar): readonly Flag[] => [...flags, helpFlag];

/** Written for bash 3.2, which macOS has: no mapfile, no associative arrays. */
function bashScript(): string {
  return `# Completion of keyturn for bash. Load it with: eval "$(keyturn completion bash)"
_keyturn() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${[...commandNames, 'help', ...topFlags.map(dashed)].join(' ')}'
  else
    # What a flag takes comes before anything else that could stand here.
    case "\${COMP_WORDS[1]}:$before" in
${grammar.flatMap(bashValues).join('\n')}
    *)
      case "\${COMP_WORDS[1]}:$COMP_CWORD" in
${grammar.flatMap(bashOperands).join('\n')}
      help:2) words='${commandNames.join(' ')}' ;;
      esac
      case "\${COMP_WORDS[1]}" in
${grammar.map((entry) => `      ${entry.name}) words="$words ${withHelp(entry).map(dashed).join(' ')}" ;;`).join('\n')}
      esac
      ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _keyturn keyturn
`;
}

function bashValues({ name, flags }: CommandGrammar): string[] {
  return flags
    .filter(({ value }) => value !== undefined)
    .map((flag) => `    ${name}:${dashed(flag)}) words='${(flag.values ?? []).join(' ')}' ;;`);
}

/** Commands with fixed words as operands take no flag with a value, so that an operand's place is its index. */
function bashOperands({ name, operands }: CommandGrammar): string[] {
  return operands.flatMap(({ values }, index) =>
    values ? [`      ${name}:${index + 2}) words='${values.join(' ')}' ;;`] : [],
  );
}

function zshScript(): string {
  return `#compdef keyturn
# Completion of keyturn for zsh. Load it with: eval "$(keyturn completion zsh)"
_keyturn() {
  local -a commands
  commands=(
${grammar.map(({ name, summary }) => `    ${singleQuoted(`${name}:${summary}`)}`).join('\n')}
    'help:show how a command is used'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _arguments ${topFlags.map(zshFlag).join(' ')}
    return
  fi
  local name=$words[2]
  shift words
  (( CURRENT-- ))
  case $name in
${grammar.map((entry) => `  ${entry.name}) _arguments ${zshArguments(entry)} ;;`).join('\n')}
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

function zshArguments(entry: CommandGrammar): string {
  return [...withHelp(entry).map(zshFlag), ...entry.operands.map(zshOperand)].join(' ');
}

function zshFlag({ name, summary, value, values }: Flag): string {
  const flag = `--${name}${value === undefined ? '' : '='}[${zshText(summary)}]`;
  if (value === undefined) return singleQuoted(flag);
  return singleQuoted(`${flag}:${zshText(value)}:${values ? `(${values.join(' ')})` : ' '}`);
}

function zshOperand({ name, values }: Operand, index: number): string {
  return singleQuoted(`${index + 1}:${zshText(name)}:${values ? `(${values.join(' ')})` : ' '}`);
}

/** `:` and `]` end a part of _arguments' language. */
function zshText(text: string): string {
  return text.replaceAll(/[:\]]/g, String.raw`\$&`);
}

function fishScript(): string {
  const lines = [
    '# Completion of keyturn for fish. Load it with: keyturn completion fish | source',
    'complete -c keyturn -f',
    ...topFlags.map((flag) => `complete -c keyturn -n __fish_use_subcommand ${fishFlag(flag)}`),
    ...grammar.map(
      ({ name, summary }) =>
        `complete -c keyturn -n __fish_use_subcommand -a ${name} -d ${singleQuoted(summary)}`,
    ),
    "complete -c keyturn -n __fish_use_subcommand -a help -d 'show how a command is used'",
    ...grammar.flatMap(fishCommand),
    `complete -c keyturn -n '__fish_seen_subcommand_from help' -a '${commandNames.join(' ')}'`,
  ];
  return `${lines.join('\n')}\n`;
}

function fishCommand(entry: CommandGrammar): string[] {
  const condition = `complete -c keyturn -n '__fish_seen_subcommand_from ${entry.name}'`;
  return [
    ...withHelp(entry).map((flag) => `${condition} ${fishFlag(flag)}`),
    ...entry.operands.flatMap(({ values }) => (values ? [`${condition} -a '${values.join(' ')}'`] : [])),
  ];
}

function fishFlag({ name, summary, value, values }: Flag): string {
  const takes = value === undefined ? '' : ` -x${values ? ` -a '${values.join(' ')}'` : ''}`;
  return `-l ${name}${takes} -d ${singleQuoted(summary)}`;
}

/** One word of any of the three shells. */
function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
