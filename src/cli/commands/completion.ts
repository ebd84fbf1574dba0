/**
 * `keyturn completion SHELL`: prints a completion script. All three are made from all.ts.
 *
 * Invariant: the scripts complete words of the statements. For servers, programs and accounts they run
 * `keyturn __complete`, which asks a broker that runs and starts none (cli/broker/known-values.ts). What that prints is
 * only ever compared and inserted, never evaluated by the shell.
 */
import { exitCodes } from '../../base/errors.ts';
import type { ValueKind } from '../broker/known-values.ts';
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
      'Print a completion script for a shell. It completes commands, options and fixed words, and what a running broker knows: servers, programs, accounts, proxies and open questions. It starts no broker.',
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
const wordsOf = ({ values, offers }: Pick<Operand, 'values' | 'offers'>): readonly string[] | undefined =>
  values ?? offers;
const valuesOf = (option: Option): readonly string[] | undefined =>
  option.type === 'string' ? wordsOf(option) : undefined;

/** The words before an operand that decide what it is completed to, each with what that is. */
const offersAfter = (operand: Operand): [before: string, words: string][] =>
  Object.entries(operand.offersAfter ?? {}).flatMap(([before, words]) =>
    words.length > 0 ? [[before, words.join(' ')]] : [],
  );

/** What the help calls an argument, and what a broker knows of that kind. */
const knownKinds: Readonly<Record<string, ValueKind>> = {
  RESOURCE: 'resources',
  'RESOURCE|GRANT': 'resources',
  SERVER: 'resources',
  CLIENT: 'programs',
  'CLIENT|FOLDER': 'programs',
  ACCOUNT: 'accounts',
  LABEL: 'accounts',
  'NAME|RESOURCE': 'proxies',
};

/** Words that mean something else in other commands: the id of a client, the URL of a metadata document. */
const kindOf = (of: string, name: string): ValueKind | undefined => {
  if (name === 'ID') return of === 'answer' ? 'questions' : undefined;
  return name === 'URL' && of !== 'client-metadata' ? 'resources' : knownKinds[name];
};

const valueKindOf = (of: string, option: Option): ValueKind | undefined =>
  option.type === 'string' ? kindOf(of, option.value) : undefined;

/**
 * Written for bash 3.2, which macOS has: no mapfile, no associative arrays. Bash breaks words at the colons of a URL
 * and at the @ of an account: they are put together first, and what stands before the last one is cut from the
 * replies.
 */
function bashScript(all: Statements): string {
  return `# Completion of keyturn for bash. Load it with: eval "$(keyturn completion bash)"
_keyturn() {
  local typed=() piece glue='' i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece=\${COMP_WORDS[i]}
    case $piece in [:@]*) glue=1 ;; esac
    if [ -n "$glue" ] && [ "\${#typed[@]}" -gt 1 ]; then
      typed[\${#typed[@]}-1]+=$piece
    else
      typed[\${#typed[@]}]=$piece
    fi
    case $piece in *[:@]) glue=1 ;; *) glue='' ;; esac
  done
  local place=$((\${#typed[@]} - 1)) words='' kind=''
  local word=\${typed[place]} before=\${typed[place-1]} cut=''
  COMPREPLY=()
  if [ "$place" -eq 1 ]; then
    words='${[namesOf(all), 'help', ...top.map(dashed)].join(' ')}'
  else
    # What an option takes comes before anything else that could stand here.
    case "\${typed[1]}:$before" in
${all.flatMap(bashValues).join('\n')}
    *)
      case "\${typed[1]}:$place:$before" in
${all.flatMap(bashOperands).join('\n')}
      help:2:*) words='${namesOf(all)}' ;;
      esac
      # Options, where nothing else can stand or a dash was typed.
      case "$word:$words$kind:\${typed[1]}" in
${all.map((one) => `      -*:${one.name}|*::${one.name}) words="${withHelp(one).map(dashed).join(' ')}" kind='' ;;`).join('\n')}
      esac
      ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
  [ -n "$kind" ] || return 0
  case $COMP_WORDBREAKS in *:*) cut=\${word%"\${word##*[:@]}"} ;; esac
  while IFS= read -r piece; do
    case $piece in "$word"*) COMPREPLY[\${#COMPREPLY[@]}]=\${piece#"$cut"} ;; esac
  done < <(keyturn __complete "$kind" 2>/dev/null)
}
complete -F _keyturn keyturn
`;
}

function bashValues(statement: Statement): string[] {
  return shownOptions(statement)
    .filter(([, { type }]) => type === 'string')
    .map(
      ([name, option]) =>
        `    ${statement.name}:--${name}) ${bashSource(valuesOf(option), valueKindOf(statement.name, option))} ;;`,
    );
}

/** A fixed word stands before the options: its place is its index. */
function bashOperands({ name, operands }: Statement): string[] {
  return operands.flatMap((operand, index) => {
    const kind = kindOf(name, operand.name);
    const values = wordsOf(operand);
    return [
      ...(values || kind ? [`      ${name}:${index + 2}:*) ${bashSource(values, kind)} ;;`] : []),
      ...offersAfter(operand).map(
        ([before, words]) => `      ${name}:${index + 2}:${before}) words='${words}' ;;`,
      ),
    ];
  });
}

const bashSource = (values: readonly string[] | undefined, kind: ValueKind | undefined): string =>
  kind ? `kind=${kind}` : `words='${(values ?? []).join(' ')}'`;

function zshScript(all: Statements): string {
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
${all.flatMap(zshOffersAfter).join('\n')}
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
  const { name } = statement;
  return [
    ...withHelp(statement).map((option) => zshOption(option, valueKindOf(name, option[1]))),
    ...statement.operands.map((operand, index) => zshOperand(name, operand, index)),
  ].join(' ');
}

function zshOffersAfter({ name, operands }: Statement): string[] {
  return operands
    .flatMap(offersAfter)
    .map(([before, words]) => `  ${name}:${before}) words_after=(${words}) ;;`);
}

function zshOption([name, option]: Named, kind?: ValueKind): string {
  const { summary, type } = option;
  const text = `--${name}${type === 'string' ? '=' : ''}[${zshText(summary)}]`;
  if (type === 'boolean') return singleQuoted(text);
  return singleQuoted(
    `${option.repeatable ? '*' : ''}${text}:${zshText(option.value)}:${zshValues(valuesOf(option), kind)}`,
  );
}

function zshOperand(of: string, operand: Operand, index: number): string {
  const action = operand.offersAfter
    ? ` _keyturn_after ${of}`
    : zshValues(wordsOf(operand), kindOf(of, operand.name));
  return singleQuoted(`${index + 1}:${zshText(operand.name)}:${action}`);
}

/** An action that begins with a space is run as it stands (zshcompsys(1), _arguments). */
function zshValues(values: readonly string[] | undefined, kind: ValueKind | undefined): string {
  if (kind) return ` _keyturn_known ${kind}`;
  return values ? `(${values.join(' ')})` : ' ';
}

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
  const condition = fishCondition(statement.name);
  return [
    ...withHelp(statement).map(
      (option) => `${condition} ${fishOption(option, valueKindOf(statement.name, option[1]))}`,
    ),
    ...statement.operands.flatMap((operand) => fishOperand(statement.name, operand)),
  ];
}

function fishOperand(of: string, operand: Operand): string[] {
  const kind = kindOf(of, operand.name);
  const values = wordsOf(operand);
  const after = (before: string): string => fishCondition(of, `__fish_prev_arg_in ${before}`);
  const others = operand.offers ? [`not __fish_seen_subcommand_from ${operand.offers.join(' ')}`] : [];
  return [
    ...(values || kind ? [`${fishCondition(of, ...others)} -a '${fishSource(values, kind)}'`] : []),
    ...offersAfter(operand).map(([before, words]) => `${after(before)} -a '${words}'`),
  ];
}

const fishCondition = (of: string, ...more: readonly string[]): string =>
  `complete -c keyturn -n '${[`__fish_seen_subcommand_from ${of}`, ...more].join('; and ')}'`;

const fishSource = (values: readonly string[] | undefined, kind: ValueKind | undefined): string =>
  kind ? `(keyturn __complete ${kind} 2>/dev/null)` : (values ?? []).join(' ');

function fishOption([name, option]: Named, kind?: ValueKind): string {
  const values = valuesOf(option);
  const source = values || kind ? ` -a '${fishSource(values, kind)}'` : '';
  const takes = option.type === 'boolean' ? '' : ` -x${source}`;
  return `-l ${name}${takes} -d ${singleQuoted(option.summary)}`;
}

/** One word of any of the three shells. */
function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
