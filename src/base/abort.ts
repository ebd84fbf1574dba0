/** Waiting that an abort ends, while the work goes on. */

/**
 * What `work` resolves or rejects with; rejects with the signal's reason when it aborts first. The work isn't
 * stopped. `onAbort` runs synchronously with the abort, before the rejection reaches a caller.
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
