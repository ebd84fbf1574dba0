/**
 * Two hundred kills of a broker under refresh load for each of four homes: a strict server, and one that forgives a
 * lost answer, each with the tokens in the keychain and in a folder. KEYTURN_SOAK_KILLS says how many for each;
 * KEYTURN_CRASH_SEED repeats a run.
 */
import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { accounts, crashRun } from '../support/homes/crash-home.ts';
import { openWorld } from '../support/world.ts';
import { numberFrom, report } from './report.ts';

/** Seconds: longer than the whole run. */
const forgiving = 24 * 3600;

const kills = numberFrom('KEYTURN_SOAK_KILLS', 200);

test.each([
  ['strict', 'keychain', 0],
  ['strict', 'folder', 0],
  ['forgiving', 'keychain', forgiving],
  ['forgiving', 'folder', forgiving],
] as const)('no sign-in is lost that a %s server honours (%s)', async (kind, items, refreshGrace) => {
  const seed = numberFrom('KEYTURN_CRASH_SEED', randomInt(2 ** 31));
  const world = await openWorld({ accessTokenLifetime: 1, refreshGrace });
  try {
    const numbers = await crashRun(world, { kills, seed }, items);
    report(`crash-${kind}-${items}`, { seed, kills, ...numbers });
    const noneLost = refreshGrace > 0 ? { answersLost: 0 } : {};
    expect(numbers).toMatchObject({ signInsLost: 0, filesUnreadable: 0, ...noneLost });
    expect(numbers.signInsKept + numbers.answersLost).toBe(kills * accounts.length);
  } finally {
    await world.close();
  }
});
