/** The bridge's errors as sentences: of the message and the hint, on one line. */
import { expect, it, onTestFinished } from 'vitest';
import { wasNeverSent } from '../../src/base/system/connection-faults.ts';
import { networkCode, unreachable } from '../../src/bridge/base/errors.ts';
import { openWorld } from '../support/world.ts';

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
