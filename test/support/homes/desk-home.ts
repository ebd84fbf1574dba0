/** A broker with a user and without the app: real commands, and the owner in-process for the user's windows. */
import { chmodSync, cpSync } from 'node:fs';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { connectAsOwner } from '../../../src/client/connect.ts';
import type { Connection } from '../../../src/client/connection.ts';
import { pair } from '../../../src/client/pair.ts';
import { startDaemon, type Daemon } from '../../../src/daemon/daemon.ts';
import { terminalLog } from '../../../src/daemon/system/log.ts';
import { methods, type ResultOf } from '../../../src/ipc/protocol/methods.ts';
import { type TestHome, until } from '../home.ts';

type Card = ResultOf<'request.list'>['requests'][number];

/** Starts a headless broker on this home, as `keyturn broker run` in a terminal with these variables. Ends with the test. */
export async function openHeadless(home: TestHome, env: NodeJS.ProcessEnv = {}) {
  const said: string[] = [];
  const pages: string[] = [];
  const { daemon, line } = await started(home, { env: { ...home.env, ...env }, said, pages });
  return {
    line,
    /** The lines of its log. */
    said,
    /** The addresses that a browser was given. */
    pages,
    stop: () => daemon.stop(),
  };
}

interface Starting {
  readonly env: NodeJS.ProcessEnv;
  readonly keyturnApp?: true;
  readonly said?: string[];
  readonly browsers?: (string | undefined)[];
  readonly pages?: string[];
  /** Follows a page as its user would. Without it, pages stay unanswered. */
  readonly visit?: ((url: string) => Promise<unknown>) | undefined;
  readonly atEnd?: (end: () => void | Promise<void>) => void;
}

async function started(
  home: TestHome,
  { env, said = [], browsers = [], pages = [], visit, atEnd = onTestFinished, ...rest }: Starting,
): Promise<{ daemon: Daemon; line: Connection }> {
  const daemon = await startDaemon({
    paths: home.paths,
    env,
    autoStarted: false,
    ...rest,
    openBrowser: async (url, command) => {
      browsers.push(command);
      pages.push(url);
      await visit?.(url);
    },
    log: terminalLog((entry) => said.push(entry)),
    shield: () => Promise.resolve([]),
  });
  atEnd(() => daemon.stop());
  const line = await connectAsOwner({ env: home.env, paths: home.paths });
  atEnd(() => line.close());
  return { daemon, line };
}

/**
 * Starts it on this home. It ends with the test, and opens no page by itself. Where it asks at its start about the
 * settings that the home is made with, the user approves, unless `leaves` is given.
 */
export async function openDesk(
  home: TestHome,
  { leaves = false, ...more }: { readonly leaves?: boolean } & Pick<Starting, 'visit' | 'atEnd'> = {},
) {
  const browsers: (string | undefined)[] = [];
  const { daemon, line } = await started(home, { env: home.env, keyturnApp: true, browsers, ...more });
  const heard: string[] = [];
  const owner = daemon.owner((name) => heard.push(name));
  const cards = async (): Promise<Card[]> =>
    methods['request.list'].result.parse(await owner.call('request.list', {})).requests;
  const [first] = await cards();
  if (first && !leaves) {
    await owner.call('request.answer', { id: first.id, answer: 'approve' });
    await until('the settings count', async () => {
      const { homeState } = methods.status.result.parse(await owner.call('status', {}));
      return !homeState.isWaiting;
    });
    heard.splice(0);
  }
  return {
    home,
    owner,
    /** The notifications that the windows would have got. */
    heard,
    /** The owner's key, as the command line uses it. */
    line,
    cards,
    card: () => until('a card', async () => (await cards())[0]),
    answer: (id: string, answer: 'approve' | 'deny' | 'dismiss') =>
      owner.call('request.answer', { id, answer }),
    permissions: async () => {
      const { apps: clients } = methods['app.list'].result.parse(await owner.call('app.list', {}));
      return clients.flatMap(({ permissions }) => permissions);
    },
    /** The browser commands that pages were given to; undefined for the system's own. */
    browsers,
    /** Ends it before the test does. */
    stop: () => daemon.stop(),
  };
}

export type Desk = Awaited<ReturnType<typeof openDesk>>;

/** Pairs an app, and approves it. */
export async function pairAt({ home, card, answer }: Desk, name: string): Promise<void> {
  const pairing = pair({ name, env: home.env, onCode: () => undefined });
  await answer((await card()).id, 'approve');
  await pairing;
}

/** A copy of all files of a home, with the modes that a broker asks for. */
export function copyFolder(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
  for (const name of ['', 'config', 'state', 'run']) chmodSync(path.join(to, name), 0o700);
}
