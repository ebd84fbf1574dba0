/** Rights of Windows, as its system writes them. */
import { expect, it } from 'vitest';
import { withSids } from '../../../src/base/windows/security.ts';

const admin = 'S-1-5-21-1-2-3-500';

it('gives the SIDs of those whom the system names by two letters', () => {
  expect(withSids('O:LA', admin)).toBe(`O:${admin}`);
  expect(withSids('D:P(A;;FA;;;LA)(A;;FA;;;SY)', admin)).toBe(`D:P(A;;FA;;;${admin})(A;;FA;;;S-1-5-18)`);
  expect(withSids('D:P(A;;FA;;;LA)', `${admin}1`)).toBe('D:P(A;;FA;;;LA)');
});
