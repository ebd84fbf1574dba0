/** A token over a new connection that both sides prove, beside oidc-agent's own library; both ends on one processor. */
import { pinned } from '../process.ts';
import { inTurn, type Measurement, microseconds } from '../row.ts';

export const anew: Measurement = {
  name: 'anew',
  async measure(world) {
    const { home, oidcAgent, pids, lasting } = await world();
    const ours = async (): Promise<void> => {
      const connection = await home.connection();
      await connection.getToken({ resource: lasting });
      connection.close();
    };
    const figures = await pinned(pids, async () =>
      inTurn(7, {
        ours: async () => microseconds(400, ours),
        'oidc-agent': async () => (oidcAgent ? microseconds(400, oidcAgent.ask) : Number.NaN),
      }),
    );
    const what = 'a token over a new authenticated connection';
    return [{ what, unit: 'µs', ...figures, goals: { 'oidc-agent': 1.5 } }];
  },
};
