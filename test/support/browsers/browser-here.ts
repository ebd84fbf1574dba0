/**
 * A user in the test's own process: follows the addresses that brokers open, at less cost than demo/user-agent.ts.
 *
 * Invariant: a command needs nothing but `sh`. The broker tells how a sign-in ends, not this file.
 */
import { mkdirSync, readFileSync, rmSync, watch } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

export interface Flags {
  readonly account: string;
  readonly deny: boolean;
}

const script = path.join(import.meta.dirname, 'hand-over.sh');

/** @param folder Made here, and removed by the caller. */
export function browserHere(folder: string, follow: (url: string, flags: Flags) => Promise<unknown>) {
  mkdirSync(folder);
  const begun = new Set<Promise<void>>();
  const watcher = watch(folder, (_event, name) => {
    const words = name === null ? undefined : wholeFile(path.join(folder, name));
    if (words === undefined) return;
    const { values, positionals } = parseArgs({
      args: words,
      options: { account: { type: 'string', default: 'alice' }, deny: { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    const one = follow(positionals.at(-1) ?? '', values).then(
      () => undefined,
      () => undefined,
    );
    begun.add(one);
    void one.then(() => begun.delete(one));
  });
  return {
    /**
     * For KEYTURN_BROWSER: words parted by single spaces; the URL is appended by who opens it.
     *
     * @param flags Those of demo/user-agent.ts, e.g. `--deny`.
     */
    command: (flags = '') => ['sh', script, folder, ...flags.split(' ').filter(Boolean)].join(' '),
    /** Follows nothing more, and resolves once all that was begun has ended. */
    async close() {
      watcher.close();
      await Promise.all(begun);
    },
  };
}

/** The lines of a file that was written to its end, which is removed; undefined for any other. */
function wholeFile(file: string): string[] | undefined {
  let lines: string[];
  try {
    lines = readFileSync(file, 'utf8').split('\n');
  } catch {
    // Each file is told of several times: it was taken already.
    return undefined;
  }
  if (lines.at(-2) !== 'whole') return undefined;
  rmSync(file);
  return lines.slice(0, -2);
}
