/** Servers for the broker's tests of one file: they start before its first test and end after its last. */
import { afterAll, beforeAll } from 'vitest';
import { openSite, type Site } from '../oauth/site.ts';
import { openWorld, type TestWorld } from '../support/world.ts';

export interface Places {
  readonly world: TestWorld;
  /** A server that answers what a test tells it to. */
  readonly site: Site;
}

/** At the top of a file. What it answers is filled in before the first test. */
export function worldAndSite(): Places {
  const places = {} as { -readonly [name in keyof Places]: Places[name] };
  beforeAll(async () => {
    [places.world, places.site] = await Promise.all([openWorld(), openSite()]);
  });
  afterAll(() => Promise.all([places.world.close(), places.site.close()]));
  return places;
}
