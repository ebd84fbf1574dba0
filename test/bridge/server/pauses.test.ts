/** How long a stream that a server ends rests before it is taken up again. */
import { expect, it } from 'vitest';
import { Pauses } from '../../../src/bridge/server/pauses.ts';

it('the pause grows to five seconds at a server that ends each stream', () => {
  const pauses = new Pauses();
  let now = 0;
  const made = Array.from({ length: 12 }, () => {
    const pause = pauses.next(0, now);
    now += pause;
    return pause;
  });
  expect(made[0]).toBe(250);
  expect(made.toSorted((a, b) => a - b)).toEqual(made);
  expect(made.at(-1)).toBe(5000);
  // A stream that stayed says that the server is well.
  expect(pauses.next(0, now + 60_000)).toBe(250);
});

it('the pause is the server’s, a minute at most', () => {
  const pauses = new Pauses();
  expect(pauses.next(3000, 0)).toBe(3000);
  expect(pauses.next(99_999_999_999, 3000)).toBe(60_000);
});
