/** `token.reject`: a protected server refused a token. Who may say so, what follows, and where it ends. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSite } from '../oauth/site.ts';
import type { Site } from '../oauth/site.ts';
import { openWorld } from '../support/world.ts';
import type { TestWorld } from '../support/world.ts';
import { oddServer } from './odd-server.ts';
import { brokerRig, inWorld, refusal } from './rig.ts';
import type { Rig } from './rig.ts';

let world: TestWorld;
let site: Site;
beforeAll(async () => {
  [world, site] = await Promise.all([openWorld(), openSite()]);
});
afterAll(async () => Promise.all([world.close(), site.close()]));

async function allowed(): Promise<Rig> {
  const rig = await brokerRig(inWorld(world));
  await rig.allow();
  return rig;
}

const reject = ({ broker }: Rig, token: { tokenId: string } | { accessToken: string }, clientId = 'editor') =>
  broker.rejectToken({ clientId, token }).counted;

describe('a refused token', () => {
  it('is dropped, and the next request refreshes', async () => {
    const rig = await allowed();
    const first = await rig.ask();
    world.expireAccessTokens();
    expect(reject(rig, { tokenId: first.tokenId })).toBe(true);
    const before = world.counts().authorizationServer.refreshes;
    expect((await rig.ask()).accessToken).not.toBe(first.accessToken);
    expect(world.counts().authorizationServer.refreshes).toBe(before + 1);
  });

  it('can be named by its value', async () => {
    const rig = await allowed();
    const { accessToken } = await rig.ask();
    expect(reject(rig, { accessToken })).toBe(true);
    expect((await rig.ask()).accessToken).not.toBe(accessToken);
  });

  it('counts for nothing from a program that never received it', async () => {
    const rig = await allowed();
    await rig.allow('agent');
    const first = await rig.ask();
    expect(reject(rig, { tokenId: first.tokenId }, 'agent')).toBe(false);
    expect(reject(rig, { accessToken: first.accessToken }, 'agent')).toBe(false);
    expect((await rig.ask()).accessToken).toBe(first.accessToken);
  });

  it('counts once: whoever reports an old one simply gets the newer', async () => {
    const rig = await allowed();
    await rig.allow('agent');
    const [one, same] = [await rig.ask(), await rig.ask({ clientId: 'agent' })];
    expect(reject(rig, { tokenId: one.tokenId })).toBe(true);
    const newer = await rig.ask();
    expect(reject(rig, { tokenId: same.tokenId }, 'agent')).toBe(false);
    expect((await rig.ask({ clientId: 'agent' })).accessToken).toBe(newer.accessToken);
  });

  it('that nobody knows changes nothing', async () => {
    const rig = await allowed();
    expect(reject(rig, { tokenId: 'ffff' })).toBe(false);
  });

  it('of a server that gives no refresh token does not come back from the vault', async () => {
    const server = oddServer(site, { scopesSupported: ['read'] });
    server.answer = (_form, usual) => ({ ...usual, refresh_token: undefined });
    const rig = await brokerRig(server);
    await rig.allow();
    const { tokenId } = await rig.ask();
    expect(reject(rig, { tokenId })).toBe(true);
    expect((await rig.ask()).accessToken).toBe('access-2');
    expect(rig.pages).toHaveLength(2);
  });
});

describe('a server that refuses every token', () => {
  it('sets off three refreshes, then nothing until the user signs in', async () => {
    const rig = await allowed();
    for (let n = 0; n < 3; n += 1) reject(rig, await rig.ask());
    const before = world.counts().authorizationServer;
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'token_refused' });
    rig.clock.advance(24 * 3_600_000);
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'token_refused' });
    expect(world.counts().authorizationServer).toEqual(before);
    await rig.login();
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
  });

  it('locks out no other program', async () => {
    const rig = await allowed();
    await rig.allow('agent');
    for (let n = 0; n < 3; n += 1) reject(rig, await rig.ask());
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'token_refused' });
    expect((await rig.ask({ clientId: 'agent' })).accessToken).toBeTypeOf('string');
  });
});
