/**
 * The broker killed (SIGKILL) in the middle of refreshes: no grant is lost that the server honours, and
 * what can't be saved is told. KEYTURN_CRASH_SEED repeats a run; the soak kills two hundred times.
 */
import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { accounts, CrashHome, crashRun } from '../../support/homes/crash-home.ts';
import { until } from '../../support/home.ts';
import type { TokenVerdict } from '../../support/world/authorization-server.ts';
import { type TestWorld, openWorld } from '../../support/world.ts';
import { numberFrom } from '../../soak/report.ts';

/** Seconds: a token is over again before the next kill. */
const accessTokenLifetime = 1;

/** Seconds: longer than any cycle of kill and start. */
const refreshGrace = 3600;

/** The moments are random, so a run adds little to another; the soak has the many. */
const kills = 2;
const seed = numberFrom('KEYTURN_CRASH_SEED', randomInt(2 ** 31));

const nothingBroken = { grantsLost: 0, filesUnreadable: 0, startsBlocked: 0, auditsBroken: 0 };

async function worldWith(options: Parameters<typeof openWorld>[0]): Promise<TestWorld> {
  const world = await openWorld(options);
  onTestFinished(() => world.close());
  return world;
}

/** Many minutes for a busy machine; a quiet one needs some ten seconds. */
const patience = 900_000;

describe('a broker that is killed again and again under load', () => {
  it(
    `loses no grant where a used refresh token may be used again (seed ${seed})`,
    { timeout: patience },
    async () => {
      const world = await worldWith({ accessTokenLifetime, refreshGrace });
      const numbers = await crashRun(world, { kills, seed });
      expect(numbers).toMatchObject({ ...nothingBroken, faults: kills, answersLost: 0 });
      expect(world.counts().authorizationServer).toMatchObject({
        signIns: accounts.length,
        refreshReuses: 0,
      });
    },
  );

  it(
    `loses only answers in flight where reuse ends the grant, and says so (seed ${seed})`,
    { timeout: patience },
    async () => {
      const world = await worldWith({ accessTokenLifetime });
      const numbers = await crashRun(world, { kills, seed });
      expect(numbers).toMatchObject({ ...nothingBroken, faults: kills });
      expect(numbers.grantsKept + numbers.answersLost).toBe(accounts.length * kills);
    },
  );
});

/** A home whose broker was killed and started anew: there is no token in memory, so that the next request refreshes. */
interface Restarted {
  readonly world: TestWorld;
  readonly crash: CrashHome;
}

async function restarted(options: Parameters<typeof openWorld>[0] = {}): Promise<Restarted> {
  const world = await openWorld({ accessTokenLifetime, ...options });
  const crash = new CrashHome(world);
  await crash.open();
  await crash.kill();
  await crash.start();
  return { world, crash };
}

/** Kills the broker while it waits for a refresh, after `passing` requests; `verdict` gets what resolves when it is gone. */
async function killedDuring(
  { world, crash }: Restarted,
  verdict: (gone: Promise<void>) => TokenVerdict | Promise<TokenVerdict>,
  passing = 0,
): Promise<boolean | undefined> {
  const grants = await crash.grants();
  const arrived = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  let passed = 0;
  world.authorizationServer.setTokenGate(() => {
    if ((passed += 1) <= passing) return 'pass';
    arrived.resolve();
    return verdict(gone.promise);
  });
  const served = world.counts().authorizationServer.refreshes;
  const asked = crash.token('a').catch(() => undefined);
  await arrived.promise;
  if ('answerAfter' in Object(await verdict(Promise.resolve()))) {
    await until('it is served', () => world.counts().authorizationServer.refreshes > served);
  }
  await crash.kill();
  gone.resolve();
  await asked;
  world.authorizationServer.setTokenGate();
  return (await crash.honoured(grants)).get('a');
}

describe('a broker that is killed', () => {
  /** One home for all: each test leaves a broker without a token in memory. The last one's account has lost its grant. */
  let there: Restarted;
  beforeAll(async () => {
    there = await restarted();
  });
  afterAll(async () => {
    await there.crash.close();
    await there.world.close();
  });

  it('a broker that is killed before the server served its request says so, and goes on with the token it has', async () => {
    const { crash } = there;
    expect(await killedDuring(there, (gone) => gone.then(() => ({ status: 503 })))).toBe(true);
    await crash.start();
    expect((await crash.explain('a')).attempt).toMatch(/^The broker ended during the refresh of \d{4}-/);
    expect((await crash.token('a')).access_token).toBeTypeOf('string');
    const { attempt, timeline } = await crash.explain('a');
    expect(attempt).toBeUndefined();
    expect(timeline.map(({ event, outcome }) => `${event} ${outcome}`)).toContain('refresh recovered');
  });

  it('a broker that is killed after its answer was kept has nothing to tell, and goes on with the new token', async () => {
    const { crash, world } = there;
    const { refreshes } = world.counts().authorizationServer;
    await crash.token('b');
    await crash.kill();
    expect(world.counts().authorizationServer.refreshes).toBe(refreshes + 1);
    await crash.start();
    expect((await crash.explain('b')).attempt).toBeUndefined();
    expect((await crash.token('b')).access_token).toBeTypeOf('string');
    expect(await crash.home.ok(['audit', 'verify'])).toContain('unchanged');
    expect(world.counts().authorizationServer).toMatchObject({ refreshes: refreshes + 2, refreshReuses: 0 });
    await crash.kill();
    await crash.start();
  });

  it('a broker that is killed while the answer is under way tells that it was lost, before and after it is refused', async () => {
    const { crash } = there;
    expect(await killedDuring(there, (gone) => ({ answerAfter: gone }))).toBe(false);
    await crash.start();
    const before = await crash.explain('a');
    expect(before.attempt).toMatch(/^The broker ended during the refresh of \d{4}-/);
    expect(before.grant).toMatchObject({ state: 'active', attempt: { lost: 'broker' } });
    expect(await crash.home.ok(['list'])).toContain('cut off');
    await expect(crash.token('a')).rejects.toMatchObject({ reason: 'login_required' });
    const after = await crash.explain('a');
    expect(after.grant.state).toBe('loginRequired');
    expect(after.now).toContain('the server may have replaced the token and the answer may have been lost');
    expect(await crash.home.ok(['explain', after.grant.id])).toContain('keyturn login');
    expect((await crash.token('b')).access_token).toBeTypeOf('string');
  });
});

it('a broker that is killed between the server’s nonce and the request with it goes on with the token and the key it has', async () => {
  const there = await restarted({ takesBoundTokens: true });
  const { crash, world } = there;
  onTestFinished(async () => {
    await crash.close();
    await world.close();
  });
  expect(await killedDuring(there, (gone) => gone.then(() => ({ status: 503 })), 1)).toBe(true);
  await crash.start();
  expect(await crash.token('a')).toMatchObject({ token_type: 'DPoP' });
  expect(world.counts().authorizationServer).toMatchObject({ refreshReuses: 0 });
});
