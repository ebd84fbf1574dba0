/**
 * Arguments, GNU style: long options, `--option=value`, `--` ends options. Node's own parser underneath.
 *
 * Invariant: what can't be understood is refused before anything is done, with exit code 2.
 */
import { parseArgs } from 'node:util';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { nearestName } from '../../base/text/near-name.ts';
import { maxLength } from '../../ipc/wire/limits.ts';
import { endpointOf } from '../../oauth/base/resource.ts';
import { parseScope } from '../../oauth/base/scope.ts';
import type { Input, Operand, Stated, Statement } from './statement.ts';

/** A command line that can't be understood. Its command adds an example (command.ts). */
export class UsageError extends KeyturnError {
  constructor(problem: string) {
    super('invalid_request', `${problem}.`);
  }
}

/** Parses, and checks the number of operands and each listed value. Throws `UsageError`. */
export function parse<S extends Stated>(args: string[], statement: Statement): Input<S> {
  const { name, operands, options, tooMany } = statement;
  const end = args.indexOf('--');
  if (statement.launches && end < 0 && args.length > 0) throw withoutDashes(name);
  const { values, positionals } = split(args, statement);
  if (statement.launches && end >= 0 && positionals.length >= args.length - end) throw withoutDashes(name);
  const needed = operands.filter(({ optional }) => !optional).length;
  const given = positionals.length;
  const isOpenEnded = operands.at(-1)?.repeatable === true;
  const isTooMany = given > operands.length && !isOpenEnded;
  if (given < needed || isTooMany)
    throw new UsageError((isTooMany && tooMany) || operandProblem(name, operands, given));
  for (const [index, word] of positionals.entries())
    requireOneOf(operands[index]?.values, word, `keyturn ${name}`);
  for (const [option, value] of Object.entries(values)) {
    const stated = options[option];
    if (stated?.type === 'string') requireOneOf(stated.values, value, `--${option}`);
  }
  // Node's parser has checked the rest: that each option is stated, and whether it has a value.
  return { options: { ...values }, operands: positionals } as unknown as Input<S>;
}

/** Without them, an option of the other command could be taken for one of ours. */
function withoutDashes(name: string): UsageError {
  return new UsageError(`keyturn ${name} needs -- before the COMMAND and its own options`);
}

function split(args: string[], { options }: Statement) {
  const parsed = Object.entries(options).map(([name, option]) => [
    name,
    {
      type: option.type,
      multiple: option.type === 'string' && option.repeatable === true,
      ...(option.short !== undefined && { short: option.short }),
    },
  ]);
  try {
    return parseArgs({ args, options: Object.fromEntries(parsed), allowPositionals: true });
  } catch (error) {
    throw new UsageError(
      error instanceof Error ? optionProblem(error.message, Object.keys(options)) : 'bad arguments',
    );
  }
}

function requireOneOf(values: readonly string[] | undefined, given: unknown, taker: string): void {
  if (values === undefined || values.some((value) => value === given)) return;
  const listed = [values.slice(0, -1).join(', '), ...values.slice(-1)].join(' or ');
  throw new UsageError(`${taker} takes ${listed}, not ${quoted(String(given))}`);
}

/** Node's messages name the option, and never the value of another one. */
function optionProblem(message: string, known: readonly string[]): string {
  const [, option] = /^Option '(?:-\w, )?(--[\w-]+)/.exec(message) ?? [];
  const [, unknown] = /^Unknown option '(-[^']*)'/.exec(message) ?? [];
  if (unknown !== undefined) {
    const nearest = nearestName(unknown.replace(/^-+/, ''), known);
    return `There is no option ${quoted(unknown)} here${nearest === undefined ? '' : `; the nearest is --${nearest}`}`;
  }
  if (option === undefined) return firstSentence(message);
  if (message.includes('argument is ambiguous')) {
    return `${option} has no value; one that begins with a dash is written ${option}=VALUE`;
  }
  return message.includes('argument missing') ? `${option} needs a value` : `${option} takes no value`;
}

function operandProblem(command: string, operands: readonly Operand[], given: number): string {
  if (operands.length === 0) return `keyturn ${command} takes no operand; ${given} given`;
  const verb = given > operands.length ? 'takes' : 'needs';
  return `keyturn ${command} ${verb} ${operands.map(({ name }) => name).join(' ')}; ${given} given`;
}

/** `text`, if it can name an MCP server. Whether http is allowed, the broker says. Throws `invalid_resource`. */
export function resourceFrom(text: string): string {
  endpointOf(text, { allowInsecureLoopback: true });
  return text;
}

/** A sign-in by its id, or an endpoint that can name several. Throws `invalid_resource`. */
export function signInFrom(text: string): { readonly id: string } | { readonly resource: string } {
  return /^[0-9a-f]{16}$/.test(text) ? { id: text } : { resource: resourceFrom(text) };
}

/** Characters: what a user copies by eye. */
const minIdLength = 4;

/** The id that `text` is or begins; `text` itself where it is no beginning of any. Throws `conflict`. */
export function wholeId(text: string, ids: readonly string[]): string {
  if (text.length < minIdLength || ids.includes(text)) return text;
  const meant = ids.filter((id) => id.startsWith(text));
  if (meant.length > 1) {
    throw new KeyturnError(
      'conflict',
      `${meant.length} ids begin with ${quoted(text)}: ${meant.join(', ')}.`,
      { hint: 'Type more of it.' },
    );
  }
  return meant[0] ?? text;
}

/** The `scope` member of a request, empty without the option. Throws `invalid_scope`. */
export function scopeFrom(given: readonly string[] | undefined): { readonly scope?: string } {
  if (given === undefined) return {};
  const text = given.join(' ');
  if (parseScope(text).length > 0) return { scope: text };
  throw new KeyturnError('invalid_scope', '--scope names no scope.', {
    rule: 'RFC 6749 §3.3',
    hint: 'Name at least one, or leave the option out.',
  });
}

/** No line break and no other control character. */
const accountPattern = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u;

/** The `account` member of a request: what was typed, else what KEYTURN_ACCOUNT says. An empty variable says nothing. */
export function accountFrom(typed: string | undefined, env = process.env): { readonly account?: string } {
  if (typed !== undefined) return { account: typed };
  const account = env['KEYTURN_ACCOUNT']?.trim();
  if (!account) return {};
  if (account.length <= maxLength.account && accountPattern.test(account)) return { account };
  throw new UsageError(
    `KEYTURN_ACCOUNT is not a name: it has 1 to ${maxLength.account} characters on one line`,
  );
}

const units = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Seconds: what the wire takes (ipc/protocol/schemas/values.ts). No wait is longer than a day. */
const maxWait = units.d;

/** Seconds: a hundred years. Longer times are refused. */
const maxTime = 36_500 * units.d;

/** `30m`, `8h`, `2d` or `90s`, as seconds. Throws `invalid_request`. */
export function secondsFrom(text: string, option: string): number {
  const [, number, unit] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? [];
  if (unit === '')
    throw new UsageError(`${option} takes a time with its unit: write ${number}s, ${number}m or ${number}h`);
  const seconds = Number(number) * units[unit as keyof typeof units];
  if (seconds <= maxTime) return seconds;
  throw new UsageError(`${option} takes a time such as 30s, 30m, 8h or 2d, not ${quoted(text)}`);
}

/** As `secondsFrom`: one second at least. */
export function durationFrom(text: string, option: string): number {
  const seconds = secondsFrom(text, option);
  if (seconds > 0) return seconds;
  throw new UsageError(`${option} takes a second at least, not ${quoted(text)}`);
}

/** As `secondsFrom`: a day at most, and undefined without the option. */
export function waitFrom(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  const seconds = secondsFrom(text, option);
  if (seconds <= maxWait) return seconds;
  throw new UsageError(`${option} takes a day at most (1d), not ${quoted(text)}`);
}

function firstSentence(message: string): string {
  const end = message.search(/\.(\s|$)/);
  return end < 0 ? message : message.slice(0, end);
}
