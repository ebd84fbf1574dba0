/** The bridge's errors as sentences: of the message and the hint, on one line. */
import { expect, it, onTestFinished } from 'vitest';
import { KeyturnError } from '../../src/base/errors.ts';
import { wasNeverSent } from '../../src/base/system/connection-faults.ts';
import { personLine, networkCode, rpcErrorOf, unreachable } from '../../src/bridge/base/errors.ts';
import { openWorld } from '../support/world.ts';

const hint = 'Start it again.';

it.each([
  ['the broker closed the connection', 'the broker closed the connection. Start it again.'],
  ['The server broke.', 'The server broke. Start it again.'],
])('ends "%s" with one full stop before the hint', (message, told) => {
  const error = new KeyturnError('broker_unreachable', message, { hint });
  expect(personLine(error)).toBe(`keyturn bridge: ${told} (broker_unreachable)`);
  expect(rpcErrorOf(error).message).toBe(`Keyturn: ${told}`);
});

it('adds nothing to a message without a hint', () => {
  const error = new KeyturnError('internal', 'this broke');
  expect(personLine(error)).toBe('keyturn bridge: this broke (internal)');
});

it('names a certificate that was refused, and asks for no second try', async () => {
  const world = await openWorld();
  onTestFinished(() => world.close());
  const { origin, href } = new URL(world.protectedServer.url);
  const refused: unknown = await fetch(href).catch((error: unknown) => error);
  const code = networkCode(refused);
  expect(wasNeverSent(code)).toBe(true);
  expect(unreachable(origin, code)).toMatchObject({
    message: expect.stringContaining(`The certificate of ${origin} was refused`),
    hint: expect.stringMatching(
      /keyturn settings set extraAuthorities FILE.*restart this server in your client/,
    ),
    isPassing: false,
  });
});
