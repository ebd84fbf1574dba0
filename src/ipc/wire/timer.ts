/** A timer that tests can drive, for what must not last for ever: handshakes, pairings, the end of a broker. */

/** Runs `run` once after `ms` milliseconds; the function it returns cancels that. */
export type After = (ms: number, run: () => void) => () => void;

/** `After` on the real clock. Never keeps the process alive: the socket it guards does. */
export const after: After = (ms, run) => {
  const timer = setTimeout(run, ms);
  timer.unref();
  return () => clearTimeout(timer);
};
