/**
 * What an interpreter claims to run: its script, its arguments and its folder.
 *
 * Invariant: a process can rewrite its own arguments, so this is only a claim. It is bounded, it stops before code in
 * an argument, and it leaves out what looks like a secret.
 */
import { procLink, procText } from './proc.ts';

export interface Claim {
  /** The first argument that is no flag and belongs to none. */
  readonly script?: string;
  /** Without the app's own name. A secret is shown as `…`. */
  readonly arguments: readonly string[];
  /** There are more arguments than are shown here. */
  readonly isCut: boolean;
  readonly folder?: string;
}

/** The number of arguments that are shown: a user reads no more. */
const maxArguments = 24;

/** Characters of one argument or of a folder. */
const maxLengthShown = 200;

/** Characters: a longer argument is data, and an app's long arguments must not keep the broker busy. */
const maxLengthRead = 1000;

/** Shown in place of a secret. */
const withheld = '…';

/** Empty for a process that has ended, or has wiped its arguments. */
export function claimOf(pid: number): Claim {
  const folder = procLink(pid, 'cwd');
  return {
    ...claimIn(procText(pid, 'cmdline') ?? ''),
    ...(folder !== undefined && { folder: bounded(folder) }),
  };
}

/** Of the text of /proc/PID/cmdline: arguments that each end with a NUL. */
export function claimIn(commandLine: string): Omit<Claim, 'folder'> {
  const [, ...given] = commandLine.replace(/\0$/, '').split('\0');
  const script = scriptAt(given);
  // What follows the script are its own arguments: a `-c` there need not be code.
  const code = given.findIndex((argument, at) => (script === -1 || at <= script) && isCode(argument));
  const plain = (code === -1 ? given : given.slice(0, code)).slice(0, maxArguments);
  const shown = plain.map((argument, at) =>
    argument.length > maxLengthRead ? withheld : bounded(mask(argument, plain[at - 1])),
  );
  if (code !== -1) return { arguments: [...shown, flagOf(given[code] ?? '')], isCut: true };
  const name = shown[script];
  return {
    ...(name !== undefined && { script: name }),
    arguments: shown,
    isCut: given.length > maxArguments,
  };
}

/**
 * What says that code comes next, or is in the same argument: `-e`, `-c`, `-E`, `-p`, `-r`, alone or after other
 * letters (`-lc`), `-eCODE`, `-ECODE`, `-cCODE`, the long forms, and `eval`. Not those of java that look so.
 */
const codeFlag =
  /^-(?!(?:jar|cp|classpath|ea|esa|client)$)(?:[A-Za-z]{0,2}[cEepr]$|[ceE].)|^--(?:eval|print|command|run|exec)(?:=|$)|^eval$/;

const isCode = (argument: string): boolean => codeFlag.test(argument);

/** The flag without the code that is in the same argument. */
function flagOf(argument: string): string {
  const [whole] = /^(?:--\w+|-[A-Za-z]{0,2}[cEepr]$|eval$)/.exec(argument) ?? [];
  return whole ?? argument.slice(0, 2);
}

/** Flags of interpreters whose value is the next argument; of others it is behind `=`. */
const takesValue = new Set(
  (
    '--require --import --loader --experimental-loader -C --conditions --env-file -W -X -I ' +
    '-cp -classpath --class-path --module-path --add-modules'
  ).split(' '),
);

function scriptAt(given: readonly string[]): number {
  return given.findIndex((argument, at) => !argument.startsWith('-') && !takesValue.has(given[at - 1] ?? ''));
}

/** A part of the name of a flag, a variable or a parameter whose value is a secret. */
const secretName =
  /token|secret|passw|passphrase|pwd|credential|cookie|bearer|session|signature|jwt|auth|(?:^|[-_.]|api|access|private)(?:key|pass|pin|otp|sig)(?:$|[-_.])/i;

/** How keys of well-known services begin. */
const secretStart =
  /\b(?:sk|pk|rk|gh[oprsu]|github_pat|glpat|xox[abeoprs]|npm|hf|dop_v1|shp(?:at|ss)|SG|ya29)[-_.][\w.-]+|\b(?:AKIA|ASIA|AIza|eyJ)[\w.-]+/g;

/**
 * Leaves out: the value of a flag, variable or parameter with such a name, here or in the next argument; what
 * follows `Authorization:` and its like, `Bearer` or `Basic`; user, query and fragment of a URL; `-pVALUE`; keys that
 * begin as those of well-known services; and long random texts.
 */
function mask(argument: string, before: string | undefined): string {
  if (before !== undefined && /^--?\w[^=]*$/.test(before) && secretName.test(before)) return withheld;
  const [, name] = /^(-{0,2}[\w.-]+)=/.exec(argument) ?? [];
  if (name !== undefined && secretName.test(name)) return `${name}=${withheld}`;
  if (/^-p./.test(argument)) return `-p${withheld}`;
  return argument
    .replace(/\b([\w-]*(?:authorization|cookie|token|key|secret)\s*:).*/is, `$1 ${withheld}`)
    .replace(/\b(bearer|basic)(\s+)\S+/gi, `$1$2${withheld}`)
    .replace(/([\w.-]+)=[^\s&;,]+/g, (whole, inner: string) =>
      secretName.test(inner) ? `${inner}=${withheld}` : whole,
    )
    .replace(/:\/\/[^/?#\s]*@/g, `://${withheld}@`)
    .replace(/(:\/\/[^?#\s]*)[?#]\S*/g, `$1?${withheld}`)
    .replace(secretStart, withheld)
    .replace(/[\w+~=-]{16,}/g, (text) => (isRandom(text) ? withheld : text));
}

/** Whether eight or more letters and digits are left without its words. */
function isRandom(text: string): boolean {
  const rest = text.replace(/[A-Z]?[a-z]{3,}/g, '').replace(/[^A-Za-z0-9]/g, '');
  return rest.length >= 8;
}

const bounded = (text: string): string =>
  text.length > maxLengthShown ? `${text.slice(0, maxLengthShown)}${withheld}` : text;
