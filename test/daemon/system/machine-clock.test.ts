/** Steady time: through suspends, and after any change of the wall clock. */
import { describe, expect, it } from 'vitest';
import { machineClock } from '../../../src/daemon/system/machine-clock.ts';

const start = Date.UTC(2030, 0, 1);
const hour = 3_600_000;

/** A machine whose readings a test turns by hand; `boot` as Linux has it. */
function machine(hasBoot = true) {
  const hands = { wall: start, monotonic: 0, boot: 50_000 };
  const clock = machineClock({
    wall: () => hands.wall,
    monotonic: () => hands.monotonic,
    ...(hasBoot ? { boot: () => hands.boot } : {}),
  });
  return {
    clock,
    run(milliseconds: number): void {
      hands.monotonic += milliseconds;
      this.sleep(milliseconds);
    },
    sleep(milliseconds: number): void {
      hands.wall += milliseconds;
      hands.boot += milliseconds;
    },
    set: (by: number) => void (hands.wall += by),
  };
}

describe('steady time on Linux', () => {
  it('goes on while the machine sleeps', () => {
    const box = machine();
    box.run(1000);
    box.sleep(8 * hour);
    expect(box.clock.now()).toBe(start + 8 * hour + 1000);
    expect(box.clock.awake()).toBe(1000);
    box.run(500);
    expect(box.clock.now()).toBe(start + 8 * hour + 1500);
  });

  it.each([hour, -hour])('does not move when somebody sets the clock by %i ms', (by) => {
    const box = machine();
    box.run(1000);
    box.set(by);
    expect(box.clock.now()).toBe(start + 1000);
    expect(box.clock.wall()).toBe(start + 1000 + by);
    box.run(1000);
    expect(box.clock.now()).toBe(start + 2000);
  });
});

it('steady time elsewhere follows the wall clock, through a suspend too', () => {
  const box = machine(false);
  box.run(1000);
  box.sleep(hour);
  expect(box.clock.now()).toBe(start + hour + 1000);
  box.set(-hour);
  expect(box.clock.now()).toBe(start + 1000);
});
