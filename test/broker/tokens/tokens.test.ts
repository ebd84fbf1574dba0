/** The life of a token: signed in once, answered from memory, refreshed in time, never withheld without need. */
import { describe, expect, it } from 'vitest';
import { oddServer } from '../odd-server.ts';
import { worldAndSite } from '../places.ts';
import { brokerRig, usedRig, inWorld, refusal, type Rig } from '../rig.ts';

const places = worldAndSite();

/** A program with a permission and a token, in a world whose tokens live an hour. */
const signedIn = (): Promise<Rig> => usedRig(inWorld(places.world));

/** An app that is allowed at a server whose tokens have these fields. */
async function allowed(fields: object): Promise<Rig> {
  const server = oddServer(places.site, { scopesSupported: ['read'] });
  server.answer = (_form, usual) => ({ ...usual, ...fields });
  const rig = await brokerRig(server);
  await rig.allow();
  return rig;
}

const counts = () => places.world.counts().authorizationServer;

/** Milliseconds; the world's tokens live an hour, so that the margin is five minutes. */
const second = 1000;
const minute = 60 * second;
const almostOver = 55 * minute;

it('a token that is still good is answered without a request and without a write', async () => {
  const rig = await signedIn();
  await rig.parts.audit.flush();
  const [fetched, footprint, done] = [rig.fetched.length, rig.footprint(), rig.vault.done.length];
  for (let call = 0; call < 100; call += 1) await rig.ask();
  expect(rig.fetched).toHaveLength(fetched);
  expect(rig.vault.done).toHaveLength(done);
  expect(rig.footprint()).toEqual(footprint);
});

describe('a token that is over', () => {
  it('PROMISE-2 T-1 W-6: is refreshed once for fifty callers, who all get the same', async () => {
    const rig = await signedIn();
    const first = await rig.ask();
    const before = counts();
    rig.clock.advance(61 * minute);
    const tokens = await Promise.all(Array.from({ length: 50 }, () => rig.ask()));
    expect(new Set(tokens.map((token) => token.accessToken)).size).toBe(1);
    expect(tokens[0]?.accessToken).not.toBe(first.accessToken);
    expect(counts().refreshes).toBe(before.refreshes + 1);
    expect(counts().tokenRequests).toBe(before.tokenRequests + 1);
    expect(counts().refreshReuses).toBe(before.refreshReuses);
  });

  it('is refreshed for the other callers when one of them goes away', async () => {
    const rig = await signedIn();
    rig.clock.advance(61 * minute);
    const before = counts().refreshes;
    const held = places.world.holdTokenRequests();
    const program = new AbortController();
    const gone = refusal(rig.ask({ signal: program.signal }));
    await held.arrived;
    program.abort();
    expect(await gone).toMatchObject({ reason: 'interrupted' });
    const staying = rig.ask();
    held.release();
    expect((await staying).accessToken).toBeTypeOf('string');
    expect(counts().refreshes).toBe(before + 1);
    places.world.authorizationServer.setTokenGate();
  });
});

it('a server in trouble is no reason to withhold a token that still works', async () => {
  const rig = await signedIn();
  const first = await rig.ask();
  rig.clock.advance(almostOver + second);
  places.world.failTokenRequests(1);
  expect((await rig.ask()).accessToken).toBe(first.accessToken);
  expect(rig.signIn().state).toEqual({ kind: 'active' });
});

describe('a server that gives no refresh token', () => {
  const withoutRefresh = (expires_in: number) => allowed({ refresh_token: undefined, expires_in });

  it('has its access token kept in the vault until it is over', async () => {
    const rig = await withoutRefresh(600);
    expect((await rig.ask()).accessToken).toBe('access-1');
    rig.parts.cache.dropSignIn(rig.signIn().id);
    rig.clock.advance(599 * second);
    expect((await rig.ask()).accessToken).toBe('access-1');
    rig.clock.advance(second);
    expect(await refusal(rig.ask({ interaction: 'never' }))).toMatchObject({ reason: 'login_required' });
    expect((await rig.ask()).accessToken).toBe('access-2');
    expect(rig.pages).toHaveLength(2);
  });

  it('gets a new sign-in for a minimum that a new token meets', async () => {
    const rig = await withoutRefresh(600);
    await rig.ask();
    rig.clock.advance(5 * minute);
    const minimumValidity = 8 * minute;
    expect(await refusal(rig.ask({ minimumValidity, interaction: 'never' }))).toMatchObject({
      reason: 'login_required',
    });
    expect((await rig.ask()).accessToken).toBe('access-1');
    expect((await rig.ask({ minimumValidity })).accessToken).toBe('access-2');
  });

  it('PROMISE-5: opens one page, not four, when its tokens are over at once', async () => {
    const rig = await withoutRefresh(0);
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'token_invalid' });
    expect(rig.pages).toHaveLength(1);
  });
});
