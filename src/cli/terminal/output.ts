/**
 * What goes where. stdout: the answer, and only that. stderr: everything meant for a user who
 * watches: progress, questions, refusals. Silence on success where there is nothing to answer.
 *
 * Invariant: a refusal is printed as what happened, the rule it follows, and what to do; the exit
 * code is the table's in errors.ts. A foreign error shows its name only, or the file that it is about: its text may
 * hold anything.
 * No server's text reaches the terminal as a command to it: control characters are shown as escapes.
 */
import { exitCodes, KeyturnError, moment, quoted, reasons } from '../../base/errors.ts';
import { visible } from '../../base/text/visible.ts';
import { systemCode } from '../../base/system-error.ts';
import { hasBrowser } from '../../base/system/display.ts';
import { labelOf } from './rule-label.ts';

/**
 * Without it Node ends the process where an output can't be written. A reader that has enough (`| head`) closes
 * the pipe: the command ends as it would have. Any other failure of stdout lost the answer, and is refused at the end.
 */
export function guardOutput(): void {
  // There is nobody left to tell.
  process.stderr.on('error', () => undefined);
  let isTold = false;
  process.stdout.on('error', (error) => {
    if (isTold || systemCode(error) === 'EPIPE') return;
    isTold = true;
    const what = `Standard output can't be written (${systemCode(error)}).`;
    const exitCode = refuse(
      new KeyturnError('file_unreadable', what, {
        rule: 'A command ends with 0 only if its answer was written',
        hint: 'Make room on the disk that it goes to, and run the command again. Its changes were kept.',
      }),
    );
    process.once('exit', () => {
      process.exitCode = exitCode;
    });
  });
}

/** Node's loader of modules says it in words only. */
function isFullTable(error: unknown): boolean {
  const isSystems = ['EMFILE', 'ENFILE'].includes(systemCode(error));
  return isSystems || (error instanceof Error && error.message.endsWith('too many open files.'));
}

/** The system refused a path: a read-only or full disk, or a folder that is gone. */
const isFileError = (error: unknown): error is Error & { readonly path: string; readonly code: string } =>
  systemCode(error) !== 'unknown' &&
  error instanceof Error &&
  'path' in error &&
  typeof error.path === 'string' &&
  // There the path is a program's.
  !('syscall' in error && String(error.syscall).startsWith('spawn'));

/** Prints a refusal and returns its exit code. */
export function refuse(error: unknown): number {
  if (isFullTable(error))
    return refuse(
      new KeyturnError('file_unreadable', 'The system lets this command open no more files.', {
        hint: 'Raise the limit (ulimit -n 1024) or close programs, and run the command again.',
      }),
    );
  if (isFileError(error))
    return refuse(
      new KeyturnError('file_unreadable', `${quoted(error.path)} can't be used (${error.code}).`, {
        hint: 'See that its folder is there and yours, and that the disk has room, then try again.',
      }),
    );
  if (!(error instanceof KeyturnError)) {
    const what = error instanceof Error ? error.name : 'an unknown error';
    say(`keyturn: internal error (${what}). This is a fault of Keyturn's; please report it.`);
    if (process.env['KEYTURN_DEBUG'] === '1' && error instanceof Error) sayLines(error.stack ?? '');
    return exitCodes.internal;
  }
  sayLines(`keyturn: ${error.message}`);
  if (error.rule !== undefined) {
    const { text, readOn } = labelOf(error.rule);
    say(`  rule: ${text}`);
    if (readOn !== undefined) say(`  read on: ${readOn}`);
  }
  if (error.hint !== undefined) sayLines(`  hint: ${error.hint}`);
  if (/sign in.*: keyturn login (?!.*--(?:paste|device))/i.test(error.hint ?? '') && !hasBrowser(process.env))
    say('  without a browser: add --paste or --device');
  if (error.retryAfter !== undefined) say(`  again in: ${error.retryAfter} s`);
  say(`  reason: ${error.reason}`);
  return reasons[error.reason].exit;
}

let isSaid = false;

/** True once this command has said anything on stderr. */
export const hasSaid = (): boolean => isSaid;

/** One line for the user who watches. */
export function say(line: string): void {
  isSaid = true;
  process.stderr.write(`${visible(line)}\n`);
}

/** Several of our own lines: a complaint of the broker that could not be started, a stack. */
function sayLines(text: string): void {
  for (const line of text.split('\n')) say(line);
}

/** One line of the answer. */
export function print(line: string): void {
  process.stdout.write(`${visible(line)}\n`);
}

/** A piece of a long answer, as it is. Resolves when it was written, or can't be: `guardOutput` says so then. */
export async function printPiece(text: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(text, () => resolve()));
}

export function printJson(value: unknown): void {
  const text = JSON.stringify(value, undefined, process.stdout.isTTY ? 2 : undefined);
  for (const line of text.split('\n')) print(line);
}

/**
 * Columns, two spaces apart, the last one open-ended. Nothing at all for no rows. Where the terminal is too narrow for
 * that, each row stands as a block, a line for each column.
 */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  const total = widths.reduce((sum, width) => sum + width + 2, -2);
  if (process.stdout.isTTY && total > process.stdout.columns) return printBlocks(header, rows);
  for (const line of lines) {
    print(
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

function printBlocks(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const width = Math.max(...header.map((name) => name.length));
  for (const [index, row] of rows.entries()) {
    if (index > 0) print('');
    // What a table needs for its columns says nothing here.
    const cells = header.map((name, column) => [name, row[column] ?? ''] as const);
    for (const [name, cell] of cells)
      if (cell !== '' && cell !== '-') print(`${name.padEnd(width)}  ${cell}`);
  }
}

/** `seconds` since 1970. */
export const when = (seconds: number): string => moment(seconds * 1000);

/** The end of the sentence "all access is paused …". `until` in seconds since 1970; absent: without an end. */
export function pauseEnd({ until }: { readonly until?: number | undefined }): string {
  if (until === undefined) return 'until you resume it (keyturn resume)';
  return `until ${when(until)} (keyturn resume ends it sooner)`;
}

/** The host of a URL as it is typed: an address of IPv6 without its brackets. */
export function hostOf(url: string): string {
  return URL.parse(url)?.hostname.replace(/^\[|\]$/g, '') ?? url;
}

/** A process as a user recognises it: its executable, and its pid. */
export function processName({
  executable = 'an unknown program',
  pid,
}: {
  readonly executable?: string | undefined;
  readonly pid?: number | undefined;
}): string {
  return pid === undefined ? executable : `${executable} (pid ${pid})`;
}

/** Milliseconds: what is done sooner needs no explanation. */
const slowAfter = 1000;

/** Says `line` when `work` isn't done by then. */
export async function sayIfSlow<T>(line: string, work: Promise<T>): Promise<T> {
  const timer = setTimeout(() => say(line), slowAfter);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
  }
}
