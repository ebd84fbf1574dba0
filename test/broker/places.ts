/** Servers for the tests of one file: they start before its first test and end after its last. */
import { ofFile } from '../support/lasting.ts';
import { openSite, type Site } from '../oauth/site.ts';
import { openWorld, type TestWorld } from '../support/world.ts';

export const worldOfFile = (options: Parameters<typeof openWorld>[0] = {}): TestWorld =>
  ofFile(() => openWorld(options));

/** With a server that answers what a test tells it to. */
export const worldAndSite = (): { readonly world: TestWorld; readonly site: Site } => ({
  world: worldOfFile(),
  site: ofFile(openSite),
});

export const lastingSite = (): Site => ofFile(openSite);
