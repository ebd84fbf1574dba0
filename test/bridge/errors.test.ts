/** The bridge's errors as sentences: of the message and the hint, on one line. */
import { expect, it } from 'vitest';
import { KeyturnError } from '../../src/base/errors.ts';
import { lineOf, rpcErrorOf } from '../../src/bridge/base/errors.ts';

const hint = 'Start it again.';

it.each([
  ['the broker closed the connection', 'the broker closed the connection. Start it again.'],
  ['The server broke.', 'The server broke. Start it again.'],
])('ends "%s" with one full stop before the hint', (message, told) => {
  const error = new KeyturnError('broker_unreachable', message, { hint });
  expect(lineOf(error)).toBe(`keyturn bridge: ${told} (broker_unreachable)`);
  expect(rpcErrorOf(error).message).toBe(`Keyturn: ${told}`);
});

it('adds nothing to a message without a hint', () => {
  const error = new KeyturnError('internal', 'this broke');
  expect(lineOf(error)).toBe('keyturn bridge: this broke (internal)');
});
