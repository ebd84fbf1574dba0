/**
 * What is said of an option that can't be used.
 *
 * Invariant: the message names the option and what to write. It repeats no value that may be a secret.
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
  const { data, fault } = readValue(schema, options);
  if (fault === undefined) return data;
  const name = fault.path.join('.');
  return invalidOption(
    name === '' ? `of ${where}` : `${name} of ${where}`,
    fault.problem,
    `The types of ${entry} describe each option.`,
  );
}

interface Fault {
  readonly path: readonly PropertyKey[];
  readonly problem: string;
}

type Reading<T> =
  | { readonly data: T; readonly fault?: undefined }
  | { readonly data?: undefined; readonly fault: Fault };

/** The value as the schema reads it, or the first thing that is wrong. */
export function readValue<T extends z.ZodType>(schema: T, value: unknown): Reading<z.output<T>> {
  const { success, data, error } = schema.safeParse(value, { reportInput: true, error: missing });
  return success ? { data } : { fault: faultOf(error.issues) };
}

/** Zod's own words don't name the members of an object. */
const missing: z.core.$ZodErrorMap = ({ code, input, inst }) => {
  if (code !== 'invalid_type') return undefined;
  if (input === undefined) return 'it is missing';
  return inst instanceof z.ZodObject ? `expected {${Object.keys(inst.shape).join(', ')}}` : undefined;
};

/** Of a union: what each of its kinds wants, and only those kinds that the value resembles, if there are any. */
function faultOf([issue]: readonly z.core.$ZodIssue[]): Fault {
  if (issue === undefined) return { path: [], problem: 'it has a wrong form' };
  const { path, input, message } = issue;
  if (isPromise(input)) return { path, problem: unawaited };
  if (issue.code !== 'invalid_union' || issue.errors.length === 0)
    return { path, problem: message.replace(/^Invalid (?:input|option): /, '') };
  const faults = issue.errors.map(faultOf);
  const inside = faults.filter((fault) => fault.path.length > 0);
  const closest = inside.length > 0 ? inside : faults;
  const [name, ...others] = new Set(closest.map((fault) => fault.path.join('.')));
  const isOnePlace = others.length === 0;
  const problems = closest.map((fault) =>
    isOnePlace ? fault.problem : `${fault.path.join('.')}: ${fault.problem}`,
  );
  return {
    path: isOnePlace && name ? [...path, name] : path,
    problem: [...new Set(problems)].join(', or '),
  };
}

export const unawaited = 'it is a Promise: write await before it';

export function isPromise(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value;
}

/** The server itself, as `where` takes it. Throws invalid_request: without types, a wrong one shows at the first request. */
export function requireServer(server: unknown, where: string): void {
  if (z.looseObject({ check: callable() }).safeParse(server).success) return;
  const problem = isPromise(server) ? unawaited : 'it is no server';
  invalidOption(`server of ${where}`, problem, 'It takes what protectedServer(…) answers.');
}

/** What `read` answers. If it throws, its message says why the option can't be used. */
export function readOption<T>(name: string, hint: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    return invalidOption(name, error instanceof Error ? error.message : 'it has a wrong form', hint);
  }
}

/** What an operator listens with; faults are printed if nobody listens. A log that fails must not change an answer. */
export function quietly<E extends Told>(onEvent: (event: E) => void = printFault): (event: E) => void {
  return (event) => {
    try {
      onEvent(event);
    } catch {
      // Said above.
    }
  };
}

interface Told {
  readonly kind: string;
  readonly problem?: string;
}

/** A platform without Node's warnings gets the error itself, from `protect`. */
function printFault({ kind, problem = kind }: Told): void {
  if (kind === 'failed') globalThis.process?.emitWarning(problem, '@keyturn/server');
}

/** A function of the author's, whose answers are checked where they are used. */
export const callable = <F>() => z.custom<F>((value) => typeof value === 'function', 'it must be a function');

/** A positive number of seconds, at most a day: nothing here is meant to last longer. */
export const seconds = z.number().positive().max(86_400);
