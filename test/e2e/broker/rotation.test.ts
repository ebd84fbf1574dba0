/** Rotation under load, on the wall clock: many processes, tokens of two seconds. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { homeInWorld, until } from '../../support/home.ts';
import { questionsAt } from '../../support/homes/ask-broker.ts';

const root = path.join(import.meta.dirname, '..', '..', '..');
const built: string = path.join(root, 'dist', 'client', 'client', 'index.js');
const { pair } = (await import(built)) as typeof import('../../../src/client/index.ts');

/** 50 calls, one each 180 ms: nine seconds, in which a token of two seconds is over several times. */
const calls = 50;
const pause = 180;
const processes = 5;

/** Seconds that a token lives. */
const lifetime = 2;

/** Milliseconds after which the next one is due: a fifth is left then, and a tenth of that is left to chance. */
const due = lifetime * 780;

it('five processes get 50 tokens each while they expire, with one sign-in and no token spent twice', async () => {
  const { home, world, resource } = await homeInWorld({ issuing: { accessTokenLifetime: lifetime } });
  await home.ok(['login', resource]);
  const pairing = pair({ name: 'busy', env: home.env, onCode: () => undefined });
  const card = await until('the card', async () => (await questionsAt(home))[0]);
  await home.ok(['request', 'approve', card.id]);
  await pairing;
  await home.ok(['app', 'allow', 'busy', resource]);

  const caller = path.join(root, 'test', 'support', 'processes', 'caller.ts');
  const args = [caller, built, 'busy', resource, String(calls), String(pause)];
  const start = performance.now();
  const runs = await Promise.all(
    Array.from({ length: processes }, () => promisify(execFile)(process.execPath, args, { env: home.env })),
  );
  const different = runs.map(({ stdout }) => Number(stdout));
  for (const count of different) expect(count).toBeGreaterThanOrEqual(4);
  const { authorizationServer } = world.counts();
  expect(authorizationServer).toMatchObject({
    signIns: 1,
    registrations: 1,
    codeExchanges: 1,
    refreshReuses: 0,
    deniedTokenRequests: 0,
    serverErrors: 0,
  });
  // One refresh for each token, not one for each process that found it over, however long that took.
  expect(authorizationServer.refreshes).toBeGreaterThanOrEqual(4);
  expect(authorizationServer.refreshes).toBeLessThanOrEqual(Math.ceil((performance.now() - start) / due) + 1);
});
