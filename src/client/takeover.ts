/**
 * One broker ends and another takes over: the one loop of all who wait for that, and its timeouts.
 *
 * Invariant: it ends. Each wait has a deadline, which begins again only when another broker was reached.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../base/clock.ts';
import { reasonOf } from '../base/errors.ts';

/** Milliseconds. */
export const timeouts = {
  /** For the next broker, once one has said that it stops: the desktop app takes over within a few seconds. */
  nextBroker: 15_000,
  /** After a broker died: the next command starts one within seconds, also on a busy machine. */
  restart: 10_000,
  /** For a broker that was asked to stop: a refresh under way has this long. */
  stop: 30_000,
} as const;

/** Milliseconds between two tries: no event says when a socket or a lock changes hands. */
export const pollInterval = 50;

export interface Try {
  readonly isFirst: boolean;
  /** Call it when a broker is connected: the wait after that one's refusal begins again. */
  readonly reached: () => void;
}

/** Steady: it must not jump when somebody sets the clock. */
export type Time = Pick<Clock, 'now' | 'sleep'>;

interface Retries {
  /** Milliseconds to go on trying after this refusal; undefined: another broker would say the same. */
  readonly waitAfter: (error: unknown, isFirst: boolean) => number | undefined;
  /** Milliseconds in all, whichever brokers were reached. */
  readonly max?: number;
  /** Aborting rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  readonly time?: Time;
}

export const machineTime: Time = {
  // `performance` would load a dozen modules of Node's into every cold command.
  now: () => Number(process.hrtime.bigint()) / 1e6,
  sleep: async (milliseconds, signal) => sleep(milliseconds, undefined, signal ? { signal } : {}),
};

/** Tries until one try succeeds. Throws the first refusal where none did in time. */
export async function retry<T>(
  work: (current: Try) => Promise<T>,
  { waitAfter, max = Infinity, signal, time = machineTime }: Retries,
): Promise<T> {
  const end = time.now() + max;
  let refusal: unknown;
  let deadline: number | undefined;
  const reached = (): void => void (deadline = undefined);
  for (;;) {
    const isFirst = refusal === undefined;
    try {
      return await work({ isFirst, reached });
    } catch (error) {
      const wait = waitAfter(error, isFirst);
      if (wait === undefined) throw error;
      refusal ??= error;
      deadline ??= time.now() + wait;
    }
    if (time.now() >= Math.min(deadline, end)) throw refusal;
    await time.sleep(pollInterval, signal).catch(() => signal?.throwIfAborted());
  }
}

/**
 * Becomes the broker of a home: `start`s, and before each further try has the broker that runs `stop`. Commands may
 * start others in between. Throws what `start` throws; `broker_running` where another one stays.
 */
export async function takeOver<T>(start: () => Promise<T>, stop: () => Promise<unknown>): Promise<T> {
  return retry(
    async ({ isFirst }) => {
      if (!isFirst) await stop();
      return start();
    },
    { waitAfter: (error) => (reasonOf(error) === 'broker_running' ? timeouts.stop : undefined) },
  );
}
