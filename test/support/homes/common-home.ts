/**
 * One home, with one broker and one world, for several tests of a file.
 *
 * Invariants: each test leaves it as it found it, or says in a comment what the next one finds. What only sets up or
 * looks asks the broker from the test's own process, since a command costs a process; what is tested is the command.
 */
import { afterEach } from 'vitest';
import type { MethodName, ParamsOf } from '../../../src/ipc/protocol/methods.ts';
import { type HomeOptions, TestHome } from '../home.ts';
import { ofFile } from '../lasting.ts';
import { askBroker } from './ask-broker.ts';
import { startBroker } from './owner-acts.ts';
import { openWorld, type TestWorld, type WorldOptions } from '../world.ts';

/** For tests that share homes: where one fails, it tells what ran in the homes so far. */
export function tellStoryOf(homes: () => readonly TestHome[]): void {
  afterEach(({ task }) => {
    if (task.result?.state === 'fail')
      throw new Error(
        homes()
          .map(({ story }) => story)
          .join('\n'),
      );
  });
}

/** For the top of a file or the body of a `describe`: opened before its first test and ended after its last. */
export function commonHome(options: Omit<HomeOptions, 'world'> & { readonly issuing?: WorldOptions } = {}) {
  /** All stay open until the end: a later world on the port of an earlier one would meet what Keyturn keeps of that one. */
  const worlds: TestWorld[] = [];
  const openOne = async () => {
    const world = await openWorld(options.issuing);
    worlds.push(world);
    return { world, resource: world.protectedServer.resource };
  };
  const place = ofFile(async () => {
    const first = await openOne();
    const home = new TestHome({ ...options, world: first.world });
    await startBroker(home);
    return {
      home,
      ...first,
      ask: <M extends MethodName>(method: M, params: ParamsOf<M>) => askBroker(home, method, params),
      /** The same home with servers of the test's own, where nobody is signed in yet. They end with the home. */
      newWorld: async () => ({ home, ...(await openOne()) }),
      async close() {
        await home.close();
        await Promise.all(worlds.map((one) => one.close()));
      },
    };
  });
  tellStoryOf(() => [place.home]);
  return place;
}
