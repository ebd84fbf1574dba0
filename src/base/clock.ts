/**
 * The broker's clock. It is passed in, so that tests can set it.
 *
 * Invariant: there are two kinds of instants, both in milliseconds. `toWall` and `fromWall` convert between them.
 * A steady instant measures how long something lasts: lifetimes in memory, waits, retries. It goes on while the
 * machine sleeps, doesn't jump when somebody sets the clock, and never leaves the process.
 * A wall-clock instant outlives the process or reaches a user or another program (records, vault, audit log,
 * wire).
 */
export interface Clock {
  /** A steady instant: only for durations. At the start it equals the wall clock, in milliseconds since 1970. */
  readonly now: () => number;
  /** What the wall clock shows: milliseconds since 1970. */
  readonly wall: () => number;
  /** Milliseconds that the machine has been awake. Where the system doesn't tell of suspends, the same as `now`. */
  readonly awake: () => number;
  /** Resolves after `milliseconds`; rejects with the signal's reason when it aborts first. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

/** The two readings that a conversion needs. */
export type ClockReadings = Pick<Clock, 'now' | 'wall'>;

/** A steady instant as the wall clock would show it. */
export function toWall(clock: ClockReadings, steady: number): number {
  return Math.round(steady - clock.now() + clock.wall());
}

/** A wall-clock instant, read from a record, as a steady one. */
export function fromWall(clock: ClockReadings, wall: number): number {
  return wall - clock.wall() + clock.now();
}

/** An instant as the wire has it: whole seconds, rounded down. */
export const wholeSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

/** Waits a `period` (milliseconds), calls `work` and waits until it is done, again and again until `signal` aborts. */
export async function repeatEvery(
  clock: Clock,
  period: number,
  work: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(period, signal).catch(() => undefined);
    if (!signal.aborted) await work();
  }
}
