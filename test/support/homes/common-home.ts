/**
 * One home, with one broker and one world, for several tests of a file.
 *
 * Invariants: each test leaves it as it found it, or says in a comment what the next one finds. What only sets up or
 * looks asks the broker from the test's own process, since a command costs a process; what is tested is the command.
 */
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { MethodName, ParamsOf } from '../../../src/ipc/protocol/methods.ts';
import { type HomeOptions, TestHome } from '../home.ts';
import { askBroker } from './ask-broker.ts';
import { startBroker } from './owner-acts.ts';
import { openWorld, type TestWorld, type WorldOptions } from '../world.ts';

interface Opened {
  readonly home: TestHome;
  readonly world: TestWorld;
  /** All stay open until the end: a later world on the port of an earlier one would meet what Keyturn keeps of that one. */
  readonly worlds: TestWorld[];
}

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

/** For the body of a `describe`: opened before its first test and ended after its last. */
export function commonHome(options: Omit<HomeOptions, 'world'> & { readonly issuing?: WorldOptions } = {}) {
  let opened: Opened | undefined;
  const there = (): Opened => {
    if (!opened) throw new Error('this home is open during its tests only');
    return opened;
  };
  beforeAll(async () => {
    const world = await openWorld(options.issuing);
    const home = new TestHome({ ...options, world });
    await startBroker(home);
    opened = { home, world, worlds: [world] };
  });
  tellStoryOf(() => [there().home]);
  afterAll(async () => {
    const { home, worlds } = there();
    await home.close();
    await Promise.all(worlds.map((one) => one.close()));
  });
  const ask = <M extends MethodName>(method: M, params: ParamsOf<M>) =>
    askBroker(there().home, method, params);
  return {
    get home() {
      return there().home;
    },
    get world() {
      return there().world;
    },
    /** The MCP server of the world. */
    get resource() {
      return there().world.protectedServer.resource;
    },
    ask,
    /** The same home with servers of the test's own, where nobody is signed in yet. They end with the home. */
    async newWorld() {
      const { home, worlds } = there();
      const world = await openWorld(options.issuing);
      worlds.push(world);
      return { home, world, resource: world.protectedServer.resource };
    },
  };
}
