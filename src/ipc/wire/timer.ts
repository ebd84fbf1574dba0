/** A timer that tests can drive, for what must not last for ever: handshakes, pairings, the end of a broker. */

/** Runs `run` once after `ms` milliseconds; the function it returns cancels that. */
export type After = (ms: number, run: () => void) => () => void;

/**
 * `After` on the real clock. Never keeps the process alive: the socket it guards does.
 *
 * A process that stood still is late, and Node runs its timers before it reads what arrived meanwhile. So `run` waits for
 * one look at the sockets: an answer that is there cancels it.
 */
export const after: After = (ms, run) => {
  let look: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    look = setImmediate(run);
  }, ms);
  timer.unref();
  return () => {
    clearTimeout(timer);
    clearImmediate(look);
  };
};
