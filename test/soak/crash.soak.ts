/**
 * Two hundred kills and more of a broker under refresh load, against a strict server and one that
 * forgives a lost answer. KEYTURN_SOAK_KILLS says how many for each; KEYTURN_CRASH_SEED repeats a run.
 */
import { randomInt } from 'node:crypto';

import { expect, test } from 'vitest';

import { crashRun } from '../support/homes/crash-home.ts';
import { openWorld } from '../support/world.ts';
import { numberFrom, report } from './report.ts';

/** Seconds: longer than the whole run. */
const forgiving = 24 * 3600;

const kills = numberFrom('KEYTURN_SOAK_KILLS', 200);

test.each([
  ['strict', 0],
  ['forgiving', forgiving],
])('no grant is lost that a %s server honours', async (kind, refreshGrace) => {
  const seed = numberFrom('KEYTURN_CRASH_SEED', randomInt(2 ** 31));
  const world = await openWorld({ accessTokenLifetime: 1, refreshGrace });
  try {
    const numbers = await crashRun(world, { kills, seed });
    const survived = numbers.faults - numbers.startsBlocked;
    report(`crash-${kind}`, { seed, survived, ...numbers });
    expect(numbers).toMatchObject({
      faults: kills,
      grantsLost: 0,
      filesUnreadable: 0,
      startsBlocked: 0,
      ...(refreshGrace > 0 ? { answersLost: 0 } : {}),
    });
  } finally {
    await world.close();
  }
});
