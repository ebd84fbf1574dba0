/**
 * The broker killed (SIGKILL) in the middle of refreshes: no sign-in is lost that the server honours, and what can't be
 * saved is told. Two hundred kills at random moments under load: test/soak/crash.soak.ts.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { CrashHome } from '../../support/homes/crash-home.ts';
import { until } from '../../support/home.ts';
import type { TokenVerdict } from '../../support/bent/authorization-server.ts';
import { type TestWorld, openWorld } from '../../support/world.ts';

/** Seconds: a token is over again before the next kill. */
const accessTokenLifetime = 1;

/** Kills the broker while it waits for a refresh, after `passing` requests; `verdict` gets what resolves when it is gone. */
async function killedDuring(
  { world, crash }: { readonly world: TestWorld; readonly crash: CrashHome },
  verdict: (gone: Promise<void>) => TokenVerdict | Promise<TokenVerdict>,
  passing = 0,
): Promise<boolean | undefined> {
  const signIns = await crash.signIns();
  const arrived = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  let passed = 0;
  world.authorizationServer.setTokenGate(() => {
    if ((passed += 1) <= passing) return 'pass';
    arrived.resolve();
    return verdict(gone.promise);
  });
  const served = world.counts().authorizationServer.refreshes;
  const asked = crash.refresh('a').catch(() => undefined);
  await arrived.promise;
  if ('answerAfter' in Object(await verdict(Promise.resolve()))) {
    await until('it is served', () => world.counts().authorizationServer.refreshes > served);
  }
  await crash.kill();
  gone.resolve();
  await asked;
  world.authorizationServer.setTokenGate();
  return (await crash.honoured(signIns)).get('a');
}

describe('a broker that is killed', () => {
  /** One home for all, whose server ends the sign-in where a refresh token is used twice. */
  let there: Parameters<typeof killedDuring>[0];
  beforeAll(async () => {
    const world = await openWorld({ accessTokenLifetime });
    const crash = new CrashHome(world);
    there = { world, crash };
    await crash.open();
  });
  afterAll(async () => {
    await there.crash.close();
    await there.world.close();
  });

  it('PROMISE-3: before the server served its request: goes on with its token', async () => {
    const { crash } = there;
    expect(await killedDuring(there, (gone) => gone.then(() => ({ status: 503 })))).toBe(true);
    await crash.start();
    expect((await crash.explain('a')).lostRefresh).toMatch(/^Keyturn stopped during the refresh of \d{4}-/);
    expect((await crash.token('a')).access_token).toBeTypeOf('string');
    const { lostRefresh, timeline } = await crash.explain('a');
    expect(lostRefresh).toBeUndefined();
    expect(timeline.map(({ event, outcome }) => `${event} ${outcome}`)).toContain('refresh recovered');
  });

  it('PROMISE-3: after its answer was kept: goes on with the new token', async () => {
    const { crash, world } = there;
    const { refreshes } = world.counts().authorizationServer;
    // The broker of the test before has no token of this account in memory.
    await crash.token('b');
    await crash.kill();
    expect(world.counts().authorizationServer.refreshes).toBe(refreshes + 1);
    await crash.start();
    expect((await crash.explain('b')).lostRefresh).toBeUndefined();
    expect((await crash.token('b')).access_token).toBeTypeOf('string');
    expect(world.counts().authorizationServer).toMatchObject({ refreshes: refreshes + 2, refreshReuses: 0 });
  });

  it('PROMISE-3: while the answer is under way: says that it was lost', async () => {
    const { crash } = there;
    expect(await killedDuring(there, (gone) => ({ answerAfter: gone }))).toBe(false);
    await crash.start();
    const before = await crash.explain('a');
    expect(before.lostRefresh).toMatch(/^Keyturn stopped during the refresh of \d{4}-/);
    expect(before.signIn).toMatchObject({ state: 'active', lostRefresh: { cause: 'brokerStopped' } });
    expect(await crash.home.ok(['sign-in', 'list'])).toContain('cut off');
    await expect(crash.token('a')).rejects.toMatchObject({ reason: 'login_required' });
    const after = await crash.explain('a');
    expect(after.signIn.state).toBe('signInRequired');
    expect(after.now).toContain('the provider may have replaced the token and its answer may be lost');
    expect(await crash.home.ok(['sign-in', 'show', after.signIn.id])).toContain('keyturn login');
    expect((await crash.token('b')).access_token).toBeTypeOf('string');
    await crash.signIn('a');
  });
});

it('a broker that is killed before it uses a nonce keeps its token and key', async () => {
  const world = await openWorld({ accessTokenLifetime, takesBoundTokens: true });
  const crash = new CrashHome(world);
  onTestFinished(async () => {
    await crash.close();
    await world.close();
  });
  await crash.open({ programs: [], accounts: ['a'] });
  const there = { world, crash };
  expect(await killedDuring(there, (gone) => gone.then(() => ({ status: 503 })), 1)).toBe(true);
  await crash.start();
  expect(await crash.token('a')).toMatchObject({ token_type: 'DPoP' });
  expect(world.counts().authorizationServer).toMatchObject({ refreshReuses: 0 });
});
