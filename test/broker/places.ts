/** Servers for the tests of one file: they start before its first test and end after its last. */
import { afterAll, beforeAll } from 'vitest';
import { openSite, type Site } from '../oauth/site.ts';
import { openWorld, type TestWorld } from '../support/world.ts';

/** At the top of a file. What it answers is filled in before the first test. */
function ofFile<T extends { close(): Promise<void> }>(open: () => Promise<T>): T {
  const place = {} as T;
  beforeAll(async () => void Object.assign(place, await open()));
  afterAll(() => place.close());
  return place;
}

export const worldOfFile = (options: Parameters<typeof openWorld>[0] = {}): TestWorld =>
  ofFile(() => openWorld(options));

/** With a server that answers what a test tells it to. */
export const worldAndSite = (): { readonly world: TestWorld; readonly site: Site } => ({
  world: worldOfFile(),
  site: ofFile(openSite),
});

export const lastingSite = (): Site => ofFile(openSite);
