/** `token.get` on a new, authenticated connection each time, one at a time, all on one processor, with our own client. */
import { pinned } from '../pinned.ts';
import { inTurn, type Measurement, timeOf } from '../row.ts';
import type { Asking } from '../socket-peers.ts';

export const anew: Measurement = {
  name: 'anew',
  async measure({ world, isSmoke }) {
    const { ours, floor, peer, pids, resource } = await world();
    const [turns, rounds] = isSmoke ? [1, 20] : [7, 400];
    const times = await pinned(pids, async () =>
      inTurn(turns, {
        ours: async () =>
          1000 *
          (await timeOf(rounds, async () => {
            const connection = await ours();
            await connection.getToken({ resource });
            connection.close();
          })),
        floor: async () => 1000 * (await timeOf(rounds, once(floor))),
        peer: async () => (peer ? 1000 * (await timeOf(rounds, once(peer))) : Number.NaN),
      }),
    );
    return {
      name: 'anew',
      what: 'token.get, new authenticated connection each time',
      unit: 'µs',
      ...times,
      peerName: 'ssh-agent',
      goal: { of: 'floor', atMost: 3 },
    };
  },
};

function once(open: () => Promise<Asking>): () => Promise<void> {
  return async () => {
    const connection = await open();
    await connection.ask();
    connection.close();
  };
}
