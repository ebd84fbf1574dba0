/**
 * Five processes that share one home while its tokens expire, on the wall clock. `npm run test:soak`
 * runs ten minutes of it (KEYTURN_SOAK_RACE says how many seconds), on tokens of ten seconds; otherwise nine seconds on
 * tokens of three.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { homeInBentWorld } from '../../support/bent/home.ts';
import type { Run } from '../../support/home.ts';
import { numberFrom, report } from '../../soak/report.ts';

const isSoak = process.env['KEYTURN_SOAK'] === '1';

/** Seconds. */
const { duration, lifetime } = isSoak
  ? { duration: numberFrom('KEYTURN_SOAK_RACE', 600), lifetime: 10 }
  : { duration: 9, lifetime: 3 };

/** As many as expire in that time, less the first and the last. */
const minTokens = Math.floor(duration / lifetime) - 1;

const processes = 5;

/** Milliseconds between two calls of one process: room for the others on a machine with two cores. */
const pause = isSoak ? 150 : 350;

/** Milliseconds of a token request: more than the pause between two calls. */
const slowness = 400;

/** Milliseconds for what comes before and after on a busy machine. */
const margin = 60_000;

/** Milliseconds that a token which is handed out still lives: a fifth of its life. */
const left = (lifetime * 1000) / 5;

/** Milliseconds after which the next one is due, at the earliest: a tenth of that fifth is left to chance. */
const due = lifetime * 1000 - left * 1.1;

interface Call {
  readonly run: Run;
  /** What the MCP server answered to the token. */
  readonly status: number;
  /** Milliseconds from the start of the command to that answer. */
  readonly took: number;
}

/** A token that expired on its way, on a machine that is busy, is nobody's failure. */
function isFailed({ run, status, took }: Call): boolean {
  return run.code !== 0 || (status !== 200 && took < left);
}

it(
  'B-36 PROMISE-2: processes on one home sign in once, and no call fails',
  { timeout: duration * 1000 + margin },
  async () => {
    const { home, world, url, authorizationServer } = await homeInBentWorld({
      authorization: { accessTokenLifetime: lifetime },
    });
    // To the millisecond: in whole seconds, as JWTs have them, a token would end up to one too early.
    authorizationServer.bend.accessTokenClaims = (claims) => ({
      ...claims,
      exp: Date.now() / 1000 + lifetime,
    });
    // As slow as a server on the other side of the world, so that the processes meet at each refresh.
    authorizationServer.bend.tokenRequest = async () => {
      await sleep(slowness);
      return undefined;
    };
    await home.ok(['app', 'allow', 'cli', url]);
    const call = async (): Promise<Call> => {
      const asked = performance.now();
      const run = await home.keyturn(['token', url]);
      const headers = { authorization: `Bearer ${run.stdout.trim()}` };
      const response = await world.fetch(url, { method: 'POST', headers, body: '{}' });
      await response.body?.cancel();
      return { run, status: response.status, took: performance.now() - asked };
    };
    const calls: Call[] = [];
    const different = (): number => new Set(calls.map(({ run }) => run.stdout)).size;
    const start = performance.now();
    const end = start + duration * 1000;
    const process = async (): Promise<void> => {
      // A busy machine gets the time it needs to see as many tokens.
      while (performance.now() < end || different() < minTokens) {
        calls.push(await call());
        await sleep(pause);
      }
    };
    await Promise.all(Array.from({ length: processes }, process));

    const { counts } = authorizationServer;
    const failed = calls.filter(isFailed);
    const { refreshes, refreshReuses } = counts;
    report('shared-home', { duration, calls: calls.length, failed: failed.length, refreshes, refreshReuses });
    expect(failed).toEqual([]);
    expect(counts).toMatchObject({
      authorizations: 1,
      registrations: 1,
      codesRedeemed: 1,
      refreshReuses: 0,
      refusals: 0,
    });
    // Each token was replaced once, when a fifth of its life was left: not once for each process.
    const most = Math.ceil((performance.now() - start) / due);
    expect(counts.refreshes).toBeGreaterThanOrEqual(minTokens - 1);
    expect(counts.refreshes).toBeLessThanOrEqual(most);
  },
);
