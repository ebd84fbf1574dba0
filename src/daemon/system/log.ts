/**
 * The broker's log: to a file beside the state, or to the terminal that it was started in.
 *
 * Invariant: a line is an event, a reason or a name, and never a secret. Writing one never fails and
 * never stops the broker: what can't be written is counted, and told once writing works again.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { systemCode } from '../../base/system-error.ts';
import { visible } from '../../base/text/visible.ts';

/** From what must be looked at to what only a search for a fault needs. */
export const levels = ['error', 'warn', 'info', 'debug'] as const;

export type Level = (typeof levels)[number];

/** Writes one line; `info` unless told otherwise. */
export type WriteLog = (line: string, level?: Level) => void;

export interface Log {
  readonly write: WriteLog;
  /** The least important level that is written. */
  level: Level;
  /** Absent: the terminal. */
  readonly file?: string;
  /** False: the last line could not be written. */
  readonly isOk: boolean;
}

/** Bytes of one file: some weeks of a quiet broker, minutes to read through. */
const maxBytes = 1024 * 1024;

/** Full files kept beside the growing one, as broker.log.1 (the newest) to .3. */
const maxFiles = 3;

/** True if a log whose least important level is `least` writes lines of `level`. */
export function isWritten(level: Level, least: Level): boolean {
  return levels.indexOf(level) <= levels.indexOf(least);
}

/** A log for people: each line as it is, with its level where that isn't `info`. */
export function terminalLog(say: (line: string) => void): Log {
  const log: Log = {
    level: 'info',
    isOk: true,
    write: (line, level = 'info') => {
      if (isWritten(level, log.level)) say(level === 'info' ? line : `${level}: ${line}`);
    },
  };
  return log;
}

export class FileLog implements Log {
  readonly file: string;
  level: Level = 'info';
  readonly #now: () => number;
  #descriptor: number | undefined;
  #bytes = 0;
  #lost = 0;

  /** `now`: milliseconds since 1970. The folder need not be there before the first line. */
  constructor(file: string, now: () => number) {
    this.file = file;
    this.#now = now;
  }

  get isOk(): boolean {
    return this.#lost === 0;
  }

  readonly write: WriteLog = (line, level = 'info') => {
    if (!isWritten(level, this.level)) return;
    try {
      const lost = this.#lost > 0 ? this.#line(`${this.#lost} lines could not be written`, 'warn') : '';
      this.#append(lost + this.#line(line, level));
      this.#lost = 0;
    } catch {
      this.#lost += 1;
      this.#close();
    }
  };

  #line(text: string, level: Level): string {
    return `${new Date(this.#now()).toISOString()} ${level} ${visible(text)}\n`;
  }

  /** In one call, so that a line is whole or absent, and in order, even if the process ends next. */
  #append(text: string): void {
    const bytes = Buffer.from(text);
    if (this.#bytes > 0 && this.#bytes + bytes.length > maxBytes) this.#rotate();
    this.#bytes += writeSync((this.#descriptor ??= this.#open()), bytes);
  }

  #open(): number {
    const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
    // Windows knows no O_NOFOLLOW.
    const flags = O_WRONLY | O_APPEND | O_CREAT | (O_NOFOLLOW ?? 0);
    const descriptor = openSync(this.file, flags, 0o600);
    fchmodSync(descriptor, 0o600);
    this.#bytes = fstatSync(descriptor).size;
    return descriptor;
  }

  #rotate(): void {
    this.#close();
    rmSync(`${this.file}.${maxFiles}`, { force: true });
    for (let n = maxFiles - 1; n >= 0; n -= 1)
      renameIfThere(n === 0 ? this.file : `${this.file}.${n}`, `${this.file}.${n + 1}`);
    this.#bytes = 0;
  }

  #close(): void {
    const open = this.#descriptor;
    this.#descriptor = undefined;
    this.#bytes = 0;
    if (open !== undefined) closeSync(open);
  }
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}
