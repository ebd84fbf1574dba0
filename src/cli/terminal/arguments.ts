/**
 * Arguments, GNU style: long flags, `--flag=value`, `--` ends flags. Node's own parser underneath.
 *
 * Invariant: what can't be understood is refused before anything is done, with exit code 2.
 */
import { parseArgs } from 'node:util';
import type { ParseArgsConfig } from 'node:util';
import { KeyturnError, quoted } from '../../base/errors.ts';
import { canonicalResource } from '../../oauth/base/resource.ts';
import { parseScope } from '../../oauth/base/scope.ts';
import { examples } from './examples.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

export interface Parsed<O extends Options> {
  readonly values: ReturnType<
    typeof parseArgs<{ args: string[]; options: O; allowPositionals: true }>
  >['values'];
  readonly positionals: string[];
}

interface Operands {
  readonly command: string;
  /** As the usage line has them. */
  readonly names: readonly string[];
  readonly atLeast?: number;
}

/** Parses, and checks the number of operands: all that are named, or `atLeast` so many. Throws `invalid_request`. */
export function parse<const O extends Options>(args: string[], options: O, operands: Operands): Parsed<O> {
  let parsed: Parsed<O>;
  try {
    parsed = parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw usage(error instanceof Error ? flagProblem(error.message) : 'bad arguments', operands.command);
  }
  const { names, command, atLeast = names.length } = operands;
  const given = parsed.positionals.length;
  if (given < atLeast || given > names.length) throw usage(operandProblem(operands, given), command);
  return parsed;
}

/** Node's messages name the flag, and never the value of another one. */
function flagProblem(message: string): string {
  const [, flag] = /^Option '(?:-\w, )?(--[\w-]+)/.exec(message) ?? [];
  const [, unknown] = /^Unknown option '(-[^']*)'/.exec(message) ?? [];
  if (unknown !== undefined) return `There is no flag ${quoted(unknown)} here`;
  if (flag === undefined) return firstSentence(message);
  if (message.includes('argument is ambiguous')) {
    return `${flag} has no value; one that begins with a dash is written ${flag}=VALUE`;
  }
  return message.includes('argument missing') ? `${flag} needs a value` : `${flag} takes no value`;
}

function operandProblem({ names, command }: Operands, given: number): string {
  if (names.length === 0) return `keyturn ${command} takes no operand; ${given} given`;
  const verb = given > names.length ? 'takes' : 'needs';
  return `keyturn ${command} ${verb} ${names.join(' ')}; ${given} given`;
}

/** A command line that can't be understood. Shows one that can. */
export function usage(problem: string, command: string): KeyturnError {
  const example = examples[command];
  const help = `keyturn ${command} --help`;
  return new KeyturnError('invalid_request', `${problem}.`, {
    hint: example === undefined ? help : `For example: ${example}   (all of it: ${help})`,
  });
}

/** `text`, if it can name a protected server. Whether http is allowed, the broker says. Throws `invalid_resource`. */
export function resourceFrom(text: string): string {
  canonicalResource(text, { allowInsecureLoopback: true });
  return text;
}

/** A grant by its id, or an endpoint that can name grants. Throws `invalid_resource`. */
export function grantFrom(text: string): { readonly grant: string } | { readonly resource: string } {
  return /^[0-9a-f]{16}$/.test(text) ? { grant: text } : { resource: resourceFrom(text) };
}

/** The `scope` member of a request, empty without the flag. Throws `invalid_scope`. */
export function scopeFrom(text: string | undefined): { readonly scope?: string } {
  if (text === undefined) return {};
  if (parseScope(text).length > 0) return { scope: text };
  throw new KeyturnError('invalid_scope', '--scope names no scope.', {
    rule: 'RFC 6749 §3.3',
    hint: 'Name at least one, or leave the flag out.',
  });
}

const units = { s: 1, m: 60, h: 3600, d: 86_400 } as const;

/** Seconds: what the wire takes (ipc/protocol/protocol.ts). Nobody waits longer than a day. */
const maxWait = units.d;

/** Seconds: a hundred years, beyond which "until you end it" is what was meant. */
const maxLease = 36_500 * units.d;

/** A whole number of seconds, a day at most. Throws `invalid_request`. */
export function secondsFrom(text: string | undefined, flag: string, command: string): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text) && Number(text) <= maxWait) return Number(text);
  throw usage(
    `${flag} takes a whole number of seconds up to ${maxWait} (a day), not ${quoted(text)}`,
    command,
  );
}

/** `8h`, `30m`, `2d`, `90s` or a number of seconds, as seconds: one at least. Throws `invalid_request`. */
export function durationFrom(text: string, flag: string, command: string): number {
  const [, number, unit] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? [];
  const seconds = Number(number) * units[(unit || 's') as keyof typeof units];
  if (seconds === 0) throw usage(`${flag} takes a second at least, not ${quoted(text)}`, command);
  if (seconds <= maxLease) return seconds;
  throw usage(`${flag} takes a duration such as 8h or 30m, not ${quoted(text)}`, command);
}

function firstSentence(message: string): string {
  const end = message.search(/\.(\s|$)/);
  return end < 0 ? message : message.slice(0, end);
}
