/** What each command's file exports: its statement, and what it does with the arguments that fit it. Or a noun. */
import { didYouMean } from '../../base/text/near-name.ts';
import { exitCodes, KeyturnError, quoted } from '../../base/errors.ts';
import { parse, UsageError } from './arguments.ts';
import type { Input, Stated, Statement } from './statement.ts';

/** The first word of a command line, with the statements of the commands that begin with it. */
export interface Topic {
  readonly name: string;
  /** One line, imperative, for the overview and for completions. */
  readonly summary: string;
  readonly statements: readonly Statement[];
  /** What the word alone runs; none if it needs a verb. */
  readonly bare?: Statement | undefined;
}

/** For what is said of all commands. Loads them. */
export type AllTopics = () => Promise<readonly Topic[]>;

export interface Command {
  readonly statement: Statement;
  /** Resolves with the exit code; throws KeyturnError for a refusal. */
  run(args: string[], all: AllTopics): Promise<number>;
}

/** A noun with its verbs: `keyturn app allow`. */
export interface Noun {
  readonly noun: string;
  readonly summary: string;
  readonly verbs: Readonly<Record<string, Command>>;
  /** What the noun alone runs. */
  readonly bare?: Command | undefined;
}

/** Without an exit code the command succeeded. */
type Run<S extends Stated> = (input: Input<S>, all: AllTopics) => Promise<number | void>;

export function defineCommand<const S extends Stated>(stated: S, run: Run<S>): Command {
  const statement: Statement = { operands: [], options: {}, ...stated };
  return {
    statement,
    async run(args, all) {
      try {
        return (await run(parse<S>(args, statement), all)) ?? exitCodes.ok;
      } catch (error) {
        throw error instanceof UsageError ? withExample(error, statement) : error;
      }
    },
  };
}

function withExample({ reason, message }: UsageError, { name, examples }: Statement): KeyturnError {
  const example = examples.find((line) => line.startsWith(`keyturn ${name}`)) ?? examples[0];
  return new KeyturnError(reason, message, {
    hint: `For example: ${example}   (all of it: keyturn ${name} --help)`,
  });
}

/** `bare`: a verb's name, or a command of its own. */
export function defineNoun(
  noun: string,
  summary: string,
  verbs: Noun['verbs'],
  bare?: string | Command,
): Noun {
  return { noun, summary, verbs, bare: typeof bare === 'string' ? verbs[bare] : bare };
}

export function topicOf(command: Command | Noun): Topic {
  if ('statement' in command) {
    const { statement } = command;
    return { name: statement.name, summary: statement.summary, statements: [statement], bare: statement };
  }
  const { noun, summary, verbs, bare } = command;
  const own = bare?.statement.name === noun ? [bare.statement] : [];
  const statements = [...own, ...Object.values(verbs).map(({ statement }) => statement)];
  return { name: noun, summary, statements, bare: bare?.statement };
}

/** The command that a line means, and what is left for it. Throws `invalid_request` for an unknown verb. */
export function commandIn(
  command: Command | Noun,
  args: readonly string[],
): { readonly command: Command; readonly rest: string[] } {
  if ('statement' in command) return { command, rest: [...args] };
  const { noun, verbs, bare } = command;
  const [word, ...rest] = args;
  const verb = word !== undefined && Object.hasOwn(verbs, word) ? verbs[word] : undefined;
  if (verb) return { command: verb, rest };
  if (bare && (word === undefined || word.startsWith('-'))) return { command: bare, rest: [...args] };
  const names = Object.keys(verbs);
  const listed = [names.slice(0, -1).join(', '), ...names.slice(-1)].filter(Boolean).join(' or ');
  const not = word === undefined ? '' : `, not ${quoted(word)}`;
  throw new KeyturnError('invalid_request', `keyturn ${noun} takes ${listed}${not}.`, {
    hint: `${word === undefined ? '' : didYouMean(word, names)}All verbs: keyturn ${noun} --help`,
  });
}
