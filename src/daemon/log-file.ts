/**
 * The log of a broker that has no terminal: daemon.log in the state folder.
 *
 * Invariant: the file is the user's alone, is opened at the first line, when the folder has been checked,
 * and a log that can't be written stops nothing.
 */
import { createWriteStream } from 'node:fs';
import type { WriteStream } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import type { HomePaths } from '../paths.ts';

export interface Log {
  /** One line; holds no secret. */
  readonly write: (line: string) => void;
  /** Resolves when everything is written. */
  readonly end: () => Promise<void>;
}

export function logFile(paths: HomePaths): Log {
  const file = path.join(paths.state, 'daemon.log');
  let stream: WriteStream | undefined;
  return {
    write: (line) => {
      stream ??= createWriteStream(file, { flags: 'a', mode: 0o600 }).on('error', () => undefined);
      stream.write(`${new Date().toISOString()} ${line}\n`);
    },
    end: async () => {
      if (!stream) return;
      stream.end();
      await finished(stream).catch(() => undefined);
    },
  };
}
