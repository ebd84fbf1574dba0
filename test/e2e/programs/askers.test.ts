/**
 * Programs that do what HTTP clients do: they keep a token until the server refuses it, and they ask while the broker
 * dies and is started again. `npm run test:soak` runs the long forms.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/client/connection.ts';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { until, type Run } from '../../support/home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { pairedProgram } from '../../support/processes/program.ts';

const isSoak = process.env['KEYTURN_SOAK'] === '1';

/** Milliseconds that a busy machine may need beside what a test itself takes. */
const margin = 300_000;

const failed = (runs: readonly Run[]): Run[] => runs.filter(({ code }) => code !== 0);

describe('programs beside a broker that is killed', () => {
  const kills = isSoak ? 40 : 3;

  it('get an answer to every request', { timeout: margin }, async () => {
    const { home, url } = await homeInBentWorld({ vault: 'keychain' });
    await owner.startBroker(home);
    await owner.signIn(home, url);
    const connections = [await pairedProgram(home, 'editor'), await pairedProgram(home, 'agent')];
    for (const client of ['cli', 'editor', 'agent']) await owner.allow(home, client, url);
    const over = new AbortController();
    const runs: Run[] = [];
    const refusals: unknown[] = [];
    const command = async (): Promise<void> => void runs.push(await home.keyturn(['token', url]));
    const program = (connection: Connection) => async (): Promise<void> => {
      await connection.getToken({ resource: url }).catch((error: unknown) => refusals.push(error));
      await sleep(10);
    };
    const requests = [command, command, ...connections.map(program)];
    const answers = requests.map(() => 0);
    const askers = requests.map(async (ask, n) => {
      for (; !over.signal.aborted; answers[n] = (answers[n] ?? 0) + 1) await ask();
    });
    for (let n = 0; n < kills; n += 1) {
      const before = [...answers];
      // By the last of these answers the other askers are in the middle of their next requests. A library gives a request
      // up after three brokers: on a busy machine that many kills could come before one answer.
      await until('an answer for each', () => answers.every((count, asker) => count > (before[asker] ?? 0)));
      for (const pid of home.brokers()) process.kill(pid, 'SIGKILL');
    }
    over.abort();
    await Promise.all(askers);

    expect(failed(runs)).toEqual([]);
    expect(refusals).toEqual([]);
  });
});
