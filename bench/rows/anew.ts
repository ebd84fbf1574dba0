/** `token.get` on a new, authenticated connection each time, one at a time, all on one processor, with our own client. */
import { isSmoke } from '../form.ts';
import { pinned } from '../pinned.ts';
import { inTurn, type Measurement, timeOf } from '../row.ts';
import type { Asking } from '../socket-peers.ts';

export const anew: Measurement = {
  name: 'anew',
  async measure({ world }) {
    const { ours, floor, inC, sshAgent, oidcAgent, pids, resource } = await world();
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
        C: async () => (inC ? 1000 * (await timeOf(rounds, once(inC))) : Number.NaN),
        'ssh-agent': async () => (sshAgent ? 1000 * (await timeOf(rounds, once(sshAgent))) : Number.NaN),
        'oidc-agent': async () => (oidcAgent ? 1000 * (await timeOf(rounds, oidcAgent.ask)) : Number.NaN),
      }),
    );
    return {
      name: 'anew',
      what: 'token.get, new authenticated connection each time',
      unit: 'µs',
      ...times,
      goals: [
        { of: 'floor', atMost: 3 },
        { of: 'oidc-agent', atMost: 0.33 },
      ],
    };
  },
};

/** One connection, with one request. */
export function once(open: () => Promise<Asking>): () => Promise<void> {
  return async () => {
    const connection = await open();
    await connection.ask();
    connection.close();
  };
}
