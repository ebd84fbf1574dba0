/** Rights of Windows, as its system writes them. */
import { expect, it } from 'vitest';
import { withSids } from '../../../src/base/windows/security.ts';

const computer = 'S-1-5-21-1-2-3';

it.each([
  ['O:LA', `${computer}-500`, `O:${computer}-500`],
  [
    'D:P(A;OICI;FA;;;LA)(A;;FA;;;SY)',
    `${computer}-500`,
    `D:P(A;OICI;FA;;;${computer}-500)(A;;FA;;;S-1-5-18)`,
  ],
  ['D:P(A;;FA;;;LA)(A;;FA;;;WD)', `${computer}-1000`, 'D:P(A;;FA;;;LA)(A;;FA;;;WD)'],
])('gives the SIDs in %s', (sddl, user, expected) => {
  expect(withSids(sddl, user)).toBe(expected);
});
