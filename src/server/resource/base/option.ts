/**
 * What is said of an option that can't be used.
 *
 * Invariant: the message names the option and what to write. It repeats no value, since a value may be a secret.
 */
import { z } from 'zod';
import { KeyturnError } from '../../../base/errors.ts';

/** Throws invalid_request. `problem` may be a sentence, as another error says it. */
export function invalidOption(name: string, problem: string, hint: string): never {
  const said = problem.replace(/\.$/, '');
  throw new KeyturnError('invalid_request', `The option ${name} can't be used: ${said}.`, { hint });
}

/** The options as the schema reads them. `where` names the function of `entry` that took them. Throws invalid_request. */
export function readOptions<T extends z.ZodType>(
  schema: T,
  options: unknown,
  where: string,
  entry = '@keyturn/server',
): z.output<T> {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = issue?.path.join('.') ?? '';
  return invalidOption(
    name === '' ? `of ${where}` : `${name} of ${where}`,
    issue?.message ?? 'it has a wrong form',
    `The types of ${entry} describe each option.`,
  );
}

/** What `read` answers. If it throws, its message says why the option can't be used. */
export function readOption<T>(name: string, hint: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    return invalidOption(name, error instanceof Error ? error.message : 'it has a wrong form', hint);
  }
}

/** What an operator listens with. A log that fails must not change an answer. */
export function quietly<E>(onEvent: ((event: E) => void) | undefined): (event: E) => void {
  return (event) => {
    try {
      onEvent?.(event);
    } catch {
      // Said above.
    }
  };
}

/** A function of the author's, whose answers are checked where they are used. */
export const callable = <F>() => z.custom<F>((value) => typeof value === 'function', 'it must be a function');

/** A positive number of seconds, at most a day: nothing here is meant to last longer. */
export const seconds = z.number().positive().max(86_400);
