/** A permitted program tries to open more sign-in pages than a person would stand. */
import { describe, expect, it } from 'vitest';
import { worldAndSite } from '../broker/places.ts';
import { brokerRig, inWorld, refusal, turnOfEvents } from '../broker/rig.ts';
import type { Rig } from '../broker/rig.ts';

const places = worldAndSite();

async function allowed(): Promise<Rig> {
  const rig = await brokerRig(inWorld(places.world));
  await rig.allow();
  rig.person.isThere = false;
  return rig;
}

/** Asks, waits for the page if one opens, and hangs up. */
async function hangUp(rig: Rig, account?: string): Promise<unknown> {
  const program = new AbortController();
  const asked = refusal(rig.ask({ signal: program.signal, ...(account === undefined ? {} : { account }) }));
  await Promise.race([asked, rig.question('signIn')]);
  program.abort();
  const told = await asked;
  await turnOfEvents();
  return told;
}

describe('a program that hangs up as soon as its page is open', () => {
  it('opens no second page at once, whatever account it names', async () => {
    const rig = await allowed();
    expect(await hangUp(rig)).toMatchObject({ reason: 'interrupted' });
    for (const account of [undefined, 'a', 'b', 'c', 'd', 'e', 'f']) {
      expect(await hangUp(rig, account)).toMatchObject({
        reason: 'rate_limited',
        retryAfter: 1,
        hint: expect.stringContaining(`keyturn login ${rig.endpoint}`),
      });
    }
    expect(rig.pages).toHaveLength(1);
  });
});
