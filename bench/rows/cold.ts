/** `keyturn token` as a cold process, with the token in the broker's memory. */
import { execFileSync } from 'node:child_process';
import process from 'node:process';
import { bin, pinned } from '../process.ts';
import { inTurn, type Measurement } from '../row.ts';

export const cold: Measurement = {
  name: 'cold',
  async measure(world) {
    const { home, pids, lasting, oidcAgent } = await world();
    const run =
      (program: string, args: readonly string[], env: NodeJS.ProcessEnv) => async (): Promise<number> => {
        const from = performance.now();
        execFileSync(program, args, { env, stdio: 'ignore' });
        return performance.now() - from;
      };
    const figures = await pinned(pids, async () =>
      inTurn(31, {
        ours: run(process.execPath, [bin, 'token', lasting], home.env),
        'node -e 0': run(process.execPath, ['-e', '0'], home.env),
        'oidc-token': oidcAgent ? run('oidc-token', ['lasting'], oidcAgent.env) : async () => Number.NaN,
      }),
    );
    return [{ what: '`keyturn token`, cold process', unit: 'ms', ...figures, goals: { 'node -e 0': 1.4 } }];
  },
};
