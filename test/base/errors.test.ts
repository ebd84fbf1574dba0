/** The table of reasons. */
import { expect, it } from 'vitest';
import { isReason, reasons } from '../../src/base/errors.ts';

it('gives each reason a JSON-RPC code of its own', () => {
  const codes = Object.values(reasons).map(({ code }) => code);
  expect(new Set(codes).size).toBe(codes.length);
  expect(isReason('internal')).toBe(true);
});
