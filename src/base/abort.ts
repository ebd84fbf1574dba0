/** Waits for work until a signal aborts. The work itself goes on. */

/**
 * Settles as `work` does, or rejects with the signal's reason if that aborts first. `onAbort` runs in the same step
 * as the abort, before the caller sees the rejection; at once if the signal has aborted already.
 */
export async function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  onAbort: () => void = () => undefined,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => {
    onAbort();
    aborted.reject(signal.reason);
  };
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
