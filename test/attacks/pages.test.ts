/** A permitted program tries to open more sign-in pages than a person would stand. */
import { describe, expect, it } from 'vitest';
import { oddServer } from '../broker/odd-server.ts';
import { worldAndSite } from '../broker/places.ts';
import { brokerRig, inWorld, refusal, turnOfEvents } from '../broker/rig.ts';
import type { Rig } from '../broker/rig.ts';
import { stepUp } from '../rules/ground.ts';

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
  await Promise.race([asked, rig.question('login')]);
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

describe('a program that names another operation each time', () => {
  it('U-3: gets no more step-ups than a few operations would', async () => {
    const server = oddServer(places.site);
    const rig = await brokerRig(server);
    const wanted = Array.from({ length: 20 }, (_, n) => `s${n}`);
    await rig.allow('editor', ['read', ...wanted]);
    await rig.login({ scope: ['read'] });
    const before = rig.pages.length;
    const outcomes: unknown[] = [];
    for (const [n, scope] of wanted.entries()) {
      const asked = rig.ask({ ...stepUp(scope), operation: `POST /${n}` });
      outcomes.push(
        await asked.then(
          () => 'ok',
          (error: unknown) => error,
        ),
      );
    }
    expect(rig.pages).toHaveLength(before + 9);
    expect(outcomes.slice(9)).toEqual(
      outcomes.slice(9).map(() => expect.objectContaining({ reason: 'step_up_exhausted' })),
    );
    rig.clock.advance(24 * 3_600_000);
    await rig.login({ scope: ['read', ...wanted.slice(0, 9)] });
    expect((await rig.ask({ ...stepUp('s9'), operation: 'POST /9' })).scope).toContain('s9');
  });
});
