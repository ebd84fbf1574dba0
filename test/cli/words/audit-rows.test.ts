/** Rows of the audit log, as a person reads them. */
import { afterEach, expect, it, vi } from 'vitest';
import { collectOutput } from '../../support/processes/output.ts';
import { tailRows } from '../../../src/cli/words/audit-rows.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('repeats stand where the last of them was, though their row was written after others', () => {
  const printed = collectOutput();
  tailRows([
    { time: 1000, event: 'token', outcome: 'ok' },
    { time: 9000, event: 'revoke', outcome: 'confirmed' },
    { time: 5000, event: 'token', outcome: 'ok', count: 3, first: 2000, last: 5000 },
  ]);
  expect(printed.stdout.match(/token ×3|token|revoke/g)).toEqual(['token', 'token ×3', 'revoke']);
});
