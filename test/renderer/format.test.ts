/** How the windows' page tells times: the nearest whole number of the unit that a user would use. */
import { expect, it } from 'vitest';
import { formatRelative } from '../../renderer/base/format.ts';

const now = 1_800_000_000;
const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

it.each([
  [0, 'now'],
  [minute, 'in 1 minute'],
  [90, 'in 2 minutes'],
  [hour - 1, 'in 1 hour'],
  [day - 1, 'tomorrow'],
  [30 * day - 1, 'next month'],
  [800 * day, 'in 2 years'],
  [-5 * minute, '5 minutes ago'],
  [-3 * day, '3 days ago'],
])('a time %i seconds from now is %s', (distance, words) => {
  expect(formatRelative(now + distance, now)).toBe(words);
});
