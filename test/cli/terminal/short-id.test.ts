/** Ids that a user types in part. */
import { expect, it } from 'vitest';
import { wholeId } from '../../../src/cli/terminal/arguments.ts';

const ids = ['1a2b3c4d', '1a2b9999', '5e6f7a8b'];

it('stands for an id where it is one, or the only one that begins so', () => {
  expect(wholeId('5e6f', ids)).toBe('5e6f7a8b');
  expect(wholeId('1a2b3', ids)).toBe('1a2b3c4d');
  expect(wholeId('1a2b9999', ids)).toBe('1a2b9999');
});

it('is refused, with the ids it could be, where several begin so', () => {
  expect(() => wholeId('1a2b', ids)).toThrow(
    expect.objectContaining({ reason: 'conflict', message: '2 ids begin with "1a2b": 1a2b3c4d, 1a2b9999.' }),
  );
});
