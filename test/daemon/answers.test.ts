/** The broker's facts in the wire's words. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { explanationAnswer } from '../../src/daemon/answers.ts';
import { openWorld } from '../support/world.ts';
import type { TestWorld } from '../support/world.ts';
import { brokerRig, inWorld } from '../broker/rig.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => world.close());

it('a timeline shows repeats where the last of them was, though their row was written after a revocation', async () => {
  const rig = await brokerRig(inWorld(world));
  const grant = await rig.login();
  const rows = [
    { time: 1000, event: 'token', outcome: 'ok', client: 'cli' },
    { time: 5000, event: 'revoke', outcome: 'confirmed' },
    { time: 4000, event: 'token', outcome: 'ok', client: 'cli', count: 3, first: 2000, last: 4000 },
  ];
  const owner = { role: 'owner', signal: new AbortController().signal } as Parameters<
    typeof explanationAnswer
  >[2];
  const { timeline } = explanationAnswer(rig.broker, grant, owner, rows);
  expect(timeline.map(({ event, at }) => `${event} ${at}`)).toEqual(['token 1', 'token 4', 'revoke 5']);
});
