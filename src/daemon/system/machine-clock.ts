/**
 * The machine's clock: wall time, and a steady time that neither a suspend stops nor a hand moves.
 *
 * Invariant: on Linux steady time follows the boot-time clock (`os.uptime()`), which counts suspends;
 * elsewhere the wall clock, which is all there is. It is read again only when monotonic and wall clock
 * disagree, since that takes a file: a token from memory costs no I/O.
 */
import { uptime } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';

/** The machine's own readings, in milliseconds. */
export interface Readings {
  readonly wall: () => number;
  /** Stands still while the machine sleeps. */
  readonly monotonic: () => number;
  /** Counts suspends too; absent where the system has none that we can read. */
  readonly boot?: () => number;
}

const readings: Readings = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  ...(process.platform === 'linux' ? { boot: () => uptime() * 1000 } : {}),
};

/**
 * Milliseconds by which wall and monotonic clock may part before it counts: more than the rounding of
 * the two, less than any suspend or hand that matters.
 */
const tolerance = 250;

interface Mark {
  readonly steady: number;
  readonly wall: number;
  readonly monotonic: number;
  readonly boot: number;
}

export function machineClock(machine: Readings = readings): Clock {
  const { wall, monotonic } = machine;
  const boot = machine.boot ?? wall;
  let mark: Mark = { steady: wall(), wall: wall(), monotonic: monotonic(), boot: boot() };
  const now = (): number => {
    const awake = monotonic() - mark.monotonic;
    if (Math.abs(wall() - mark.wall - awake) <= tolerance) return mark.steady + awake;
    // A suspend, or somebody set the clock: the boot-time clock says how much time really passed.
    mark = {
      steady: mark.steady + (machine.boot ? Math.max(boot() - mark.boot, awake) : wall() - mark.wall),
      wall: wall(),
      monotonic: monotonic(),
      boot: boot(),
    };
    return mark.steady;
  };
  return {
    now,
    wall,
    awake: machine.boot ? monotonic : now,
    sleep: async (milliseconds, signal) => {
      // Node's timers end at 2^31 ms; our waits are shorter. Unref'ed: a wait never keeps the process.
      await sleep(milliseconds, undefined, { ref: false, ...(signal ? { signal } : {}) });
    },
  };
}
