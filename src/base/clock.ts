/**
 * Time as the broker sees it. It is passed in, so that a test can set it.
 *
 * Invariant: two kinds of instants, both in milliseconds, and one place to turn one into the other.
 * Steady ones measure how long something lasts: lifetimes in memory, waits, tries. They go on while
 * the machine sleeps, don't jump when somebody sets the clock, and never leave the process.
 * Wall-clock ones stand wherever an instant outlives the process or reaches a person or another
 * program: records, vault, audit log, wire; and where the owner means the clock (`allow --until`).
 */
export interface Clock {
  /** A steady instant. Near the milliseconds since the epoch, as the wall clock had them at the start. */
  readonly now: () => number;
  /** What the wall clock shows: milliseconds since the epoch. */
  readonly wall: () => number;
  /** Milliseconds that the machine has been awake. Where suspends can't be told, follows `now`. */
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

/** An instant as the wire has it: whole seconds. */
export const wholeSeconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

/** Calls `work` once a `period` (milliseconds) until `signal` aborts; the next period begins when the work is done. */
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
