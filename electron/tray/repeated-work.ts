/**
 * Work that reads the newest state and may be asked for at any time.
 *
 * Invariant: there is one run at a time, and a whole run follows each call. All calls during a run share one further
 * run.
 */

/**
 * `work` never rejects. What it answers resolves after a run that began after the call, and after those that calls in
 * the meantime asked for.
 */
export function repeatedWork(work: () => Promise<void>): () => Promise<void> {
  let isAsked = false;
  let running: Promise<void> | undefined;
  const runWhileAsked = async (): Promise<void> => {
    while (isAsked) {
      isAsked = false;
      await work();
    }
    // In the same step as the last check of `isAsked`, so that no call can join a run that is over.
    running = undefined;
  };
  return async () => {
    isAsked = true;
    running ??= runWhileAsked();
    return running;
  };
}
