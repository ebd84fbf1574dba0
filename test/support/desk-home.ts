/**
 * A broker at which a person sits, without the app: real commands, real broker, and the owner in-process for
 * the person's windows.
 */
import { onTestFinished } from 'vitest';
import { connectAsOwner } from '../../src/client/connect.ts';
import type { Connection } from '../../src/client/connection.ts';
import { startDaemon } from '../../src/daemon/daemon.ts';
import type { DeskOwner } from '../../src/daemon/desk-owner.ts';
import { terminalLog } from '../../src/daemon/log.ts';
import { methods, type ResultOf } from '../../src/ipc/protocol.ts';
import { type TestHome, until } from './home.ts';

type Card = ResultOf<'interaction.list'>['interactions'][number];
type Client = ResultOf<'client.list'>['clients'][number];

export interface Desk {
  readonly home: TestHome;
  readonly owner: DeskOwner;
  /** The notifications that the windows would have got. */
  readonly heard: readonly string[];
  /** The owner's key, as the command line uses it. */
  readonly line: Connection;
  readonly cards: () => Promise<Card[]>;
  readonly card: () => Promise<Card>;
  readonly answer: (id: string, answer: 'yes' | 'no' | 'later') => Promise<unknown>;
  readonly permissions: () => Promise<Client['permissions']>;
}

/** Starts it on this home. It ends with the test, and opens no page by itself. */
export async function openDesk(home: TestHome): Promise<Desk> {
  const daemon = await startDaemon({
    paths: home.paths,
    env: home.env,
    autoStarted: false,
    desk: true,
    openBrowser: () => Promise.resolve(),
    log: terminalLog(() => undefined),
    shield: () => Promise.resolve([]),
  });
  onTestFinished(() => daemon.stop());
  const heard: string[] = [];
  const owner = daemon.owner((name) => heard.push(name));
  const line = await connectAsOwner({ env: home.env, paths: home.paths });
  onTestFinished(() => line.close());
  const cards = async (): Promise<Card[]> =>
    methods['interaction.list'].result.parse(await owner.call('interaction.list', {})).interactions;
  return {
    home,
    owner,
    heard,
    line,
    cards,
    card: () => until('a card', async () => (await cards())[0]),
    answer: (id, answer) => owner.call('interaction.answer', { id, answer }),
    permissions: async () => {
      const { clients } = methods['client.list'].result.parse(await owner.call('client.list', {}));
      return clients.flatMap(({ permissions }) => permissions);
    },
  };
}
