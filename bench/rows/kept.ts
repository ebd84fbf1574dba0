/** `token.get` on a kept connection, one request at a time, all on one processor. */
import { isSmoke } from '../form.ts';
import { pinned } from '../pinned.ts';
import { inTurn, type Measurement, timeOf } from '../row.ts';

export const kept: Measurement = {
  name: 'kept',
  async measure({ world }) {
    const { ours, floor, inC, sshAgent, pids, resource } = await world();
    const [turns, rounds] = isSmoke ? [1, 50] : [7, 4000];
    const [a, b, c, d] = [await ours(), await floor(), await inC?.(), await sshAgent?.()];
    const times = await pinned(pids, async () =>
      inTurn(turns, {
        ours: async () => 1000 * (await timeOf(rounds, async () => a.getToken({ resource }))),
        floor: async () => 1000 * (await timeOf(rounds, async () => b.ask())),
        C: async () => (c ? 1000 * (await timeOf(rounds, async () => c.ask())) : Number.NaN),
        'ssh-agent': async () => (d ? 1000 * (await timeOf(rounds, async () => d.ask())) : Number.NaN),
      }),
    );
    for (const connection of [a, b, c, d]) connection?.close();
    return {
      name: 'kept',
      what: 'token.get, kept connection, one at a time',
      unit: 'µs',
      ...times,
      goals: [
        { of: 'floor', atMost: 1.3 },
        { of: 'C', atMost: 4 },
      ],
    };
  },
};
