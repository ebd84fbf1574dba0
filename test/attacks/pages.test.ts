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

  it('waits longer after each page, up to five minutes', async () => {
    const rig = await allowed();
    const pauses: number[] = [];
    for (let page = 0; page < 12; page += 1) {
      expect(await hangUp(rig)).toMatchObject({ reason: 'interrupted' });
      const told = await hangUp(rig);
      const { retryAfter = 0 } = told as { readonly retryAfter?: number };
      pauses.push(retryAfter);
      rig.clock.advance(retryAfter * 1000);
    }
    expect(pauses.every((pause, n) => n === 0 || pause >= (pauses[n - 1] ?? 0) || pause >= 225)).toBe(true);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(300);
    expect(pauses.reduce((sum, pause) => sum + pause, 0)).toBeGreaterThan(600);
  });
});

describe('a person whose program hung up', () => {
  it.each(['login', 'a permission', 'time'] as const)(
    'is not locked out: %s ends the pause',
    async (what) => {
      const rig = await allowed();
      await hangUp(rig);
      rig.person.isThere = true;
      if (what === 'login') await rig.login();
      else if (what === 'a permission') rig.broker.userActed(rig.endpoint);
      else rig.clock.advance(1000);
      expect((await rig.ask()).accessToken).toBeTypeOf('string');
    },
  );
});
