/** `keyturn token` as a cold process whose token is cached, beside the same Node that does nothing. */
import { execFileSync } from 'node:child_process';
import process from 'node:process';
import { bin } from '../broker-home.ts';
import { isSmoke } from '../form.ts';
import { pinned } from '../pinned.ts';
import { inTurn, type Measurement } from '../row.ts';

export const cold: Measurement = {
  name: 'cold',
  async measure({ world }) {
    const { home, pids, resource } = await world();
    const run = async (...args: string[]): Promise<number> => {
      const from = performance.now();
      execFileSync(process.execPath, args, { env: home.env, stdio: 'ignore' });
      return performance.now() - from;
    };
    const times = await pinned(pids, async () =>
      inTurn(isSmoke ? 1 : 41, {
        ours: async () => run(bin, 'token', resource),
        floor: async () => run('-e', '0'),
      }),
    );
    return {
      name: 'cold',
      what: 'keyturn token, cached, cold process',
      unit: 'ms',
      ...times,
      goals: [{ of: 'floor', atMost: 1.3 }],
    };
  },
};
