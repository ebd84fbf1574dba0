/** The completion script for bash. */
import type { ValueKind } from '../broker/known-values.ts';
import type { Topic } from '../terminal/command.ts';
import { shownOptions, type Statement } from '../terminal/statement.ts';
import {
  type Topics,
  top,
  dashed,
  optionWords,
  namesOf,
  wordsOf,
  valuesOf,
  offersAfter,
  statementsOf,
  verbsOf,
  verbWord,
  depthOf,
  kindOf,
  valueKindOf,
} from './completed-words.ts';

/**
 * Written for bash 3.2, which macOS has: no mapfile, no associative arrays. Bash breaks words at the colons of a URL
 * and at the @ of an account: they are put together first, and what is before the last one is cut from the
 * replies.
 */
export function bashScript(all: Topics): string {
  const statements = statementsOf(all);
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
    local name=\${typed[1]}
    case "$name" in
${all
  .filter((topic) => verbsOf(topic).length > 0)
  .map(bashNoun)
  .join('\n')}
    esac
    # What an option takes comes before anything else that could stand here.
    case "$name:$before" in
${statements.flatMap(bashValues).join('\n')}
    *)
      case "$name:$place:$before" in
${statements.flatMap(bashOperands).join('\n')}
      help:2:*) words='${namesOf(all)}' ;;
      esac
      # Options, where nothing else can stand or a dash was typed.
      case "$word:$words$kind:$name" in
${statements.map((one) => `      -*:'${one.name}'|*::'${one.name}') words="${optionWords(one)}" kind='' ;;`).join('\n')}
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

/** The second word of a noun: one of its verbs, or an option of what the noun alone runs. */
function bashNoun(topic: Topic): string {
  const { name, bare } = topic;
  const verbs = verbsOf(topic).map(verbWord);
  const options = bare && bare.name !== name ? ` ${optionWords(bare)}` : '';
  return `    ${name})
      case "\${typed[2]}" in
      ${verbs.join('|')}) [ "$place" -gt 2 ] && name="${name} \${typed[2]}" ;;
      esac
      if [ "$place" -eq 2 ]; then words='${verbs.join(' ')}${options}'; fi
      ;;`;
}

function bashValues(statement: Statement): string[] {
  return shownOptions(statement)
    .filter(([, { type }]) => type === 'string')
    .map(([name, option]) => {
      const { short } = option;
      const both = [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
      const patterns = both.map((one) => `'${statement.name}:${one}'`).join('|');
      return `    ${patterns}) ${bashSource(valuesOf(option), valueKindOf(statement.name, option))} ;;`;
    });
}

/** A fixed word is before the options: its place is its index. */
function bashOperands(statement: Statement): string[] {
  const { name, operands } = statement;
  return operands.flatMap((operand, index) => {
    const kind = kindOf(name, operand.name);
    const values = wordsOf(operand);
    const place = index + 1 + depthOf(statement);
    return [
      ...(values || kind ? [`      '${name}:${place}':*) ${bashSource(values, kind)} ;;`] : []),
      ...offersAfter(operand).map(
        ([before, words]) => `      '${name}:${place}:${before}') words='${words}' ;;`,
      ),
    ];
  });
}

const bashSource = (values: readonly string[] | undefined, kind: ValueKind | undefined): string =>
  kind ? `kind=${kind}` : `words='${(values ?? []).join(' ')}'`;
