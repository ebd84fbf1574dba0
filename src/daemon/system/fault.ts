/**
 * A fault of ours as the log may have it.
 *
 * Invariant: never its message, which may quote anything.
 */

/** Where it happened. */
export function fault(method: string, error: unknown): string {
  const frames =
    error instanceof Error ? (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line)) : [];
  const name = error instanceof Error ? error.name : 'not an Error';
  return JSON.stringify({ event: 'fault', method, name, at: frames.slice(0, 8).map((line) => line.trim()) });
}
