/** What each command's file exports: its statement, and what it does with the arguments that fit it. */
import { KeyturnError } from '../../base/errors.ts';
import { parse, UsageError } from './arguments.ts';
import type { Input, Statement } from './statement.ts';

/** For what is said of all commands. Loads them. */
export type AllStatements = () => Promise<readonly Statement[]>;

export interface Command {
  readonly statement: Statement;
  /** Resolves with the exit code; throws KeyturnError for a refusal. */
  run(args: string[], all: AllStatements): Promise<number>;
}

type Run<S extends Statement> = (input: Input<S>, all: AllStatements) => Promise<number>;

export function defineCommand<const S extends Statement>(statement: S, run: Run<S>): Command {
  return {
    statement,
    async run(args, all) {
      try {
        return await run(parse(args, statement), all);
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
