/**
 * Programs that do what HTTP clients do: they keep a token until the server refuses it, and they ask while the broker
 * dies and is started again. `npm run test:soak` runs the long forms.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/client/connection.ts';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { until } from '../../support/home.ts';
import type { Run } from '../../support/home.ts';
import * as owner from '../../support/homes/owner-acts.ts';
import { pairedProgram } from '../../support/processes/program.ts';

const isSoak = process.env['KEYTURN_SOAK'] === '1';

/** Milliseconds that a busy machine may need beside what a test itself takes. */
const margin = 300_000;

const failed = (runs: readonly Run[]): Run[] => runs.filter(({ code }) => code !== 0);

describe('programs that keep a token until the server refuses it', () => {
  /** Seconds. */
  const { duration, lifetime } = isSoak ? { duration: 60, lifetime: 10 } : { duration: 6, lifetime: 2 };

  it('are served all the time, by one sign-in and without a replay', { timeout: margin }, async () => {
    const { home, world, url, authorizationServer } = await homeInBentWorld({
      authorization: { accessTokenLifetime: lifetime },
    });
    await owner.startBroker(home);
    await owner.allow(home, 'cli', url);
    const runs: Run[] = [];
    const token = async (args: string[], stdin?: string): Promise<string> => {
      const run = await home.keyturn(['token', url, ...args], stdin === undefined ? {} : { stdin });
      runs.push(run);
      return run.stdout.trim();
    };
    const isTaken = async (held: string): Promise<boolean> => {
      const headers = { authorization: `Bearer ${held}` };
      const response = await world.fetch(url, { method: 'POST', headers, body: '{}' });
      await response.body?.cancel();
      return response.status !== 401;
    };
    const start = performance.now();
    const end = start + duration * 1000;
    const program = async (): Promise<void> => {
      let held = await token([]);
      while (performance.now() < end) {
        if (!(await isTaken(held))) held = await token(['--status', '401', '--rejected-token-stdin'], held);
        await sleep(100);
      }
    };
    await Promise.all(Array.from({ length: 5 }, program));

    expect(failed(runs)).toEqual([]);
    expect(authorizationServer.counts).toMatchObject({ authorizations: 1, refreshReuses: 0, refusals: 0 });
    // Each token was replaced about once, not once for each program: after 78 % of its life, or once the server refused
    // it, whose `exp` is in whole seconds. The last commands may end later than `end`.
    const due = Math.min(lifetime * 780, (lifetime - 1) * 1000);
    const most = Math.ceil((performance.now() - start) / due) + 1;
    expect(authorizationServer.counts.refreshes).toBeLessThanOrEqual(most);
  });
});

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
