/** Rotation loses nothing (invariant 3, dev/internals.md): when a token is in the vault, and what a late answer may change. */
import { describe, expect, it, vi } from 'vitest';
import { revokeSignIn } from '../../../src/broker/revocation/revoker.ts';
import type { SignIn } from '../../../src/broker/records/sign-in.ts';
import { newItemName } from '../../../src/store/unused-items.ts';
import type { TokenVerdict } from '../../support/bent/authorization-server.ts';
import { oddServer } from '../odd-server.ts';
import { brokerRig, usedRig, inWorld, refusal, turnOfEvents, type Rig } from '../rig.ts';
import { getIfAny, type Vault } from '../../../src/vault/base/vault.ts';
import { worldAndSite } from '../places.ts';

const { world, site } = worldAndSite();

const hour = 3_600_000;

/** Signed in, with a token that is over. */
async function needingRefresh(): Promise<Rig> {
  const rig = await usedRig(inWorld(world));
  rig.clock.advance(hour);
  rig.vault.done.length = 0;
  return rig;
}

const counts = () => world.counts().authorizationServer;

async function storedToken({ vault, signIn }: Rig): Promise<string> {
  return JSON.parse(await vault.get(signIn().item ?? '')).refreshToken;
}

/** Only the next token request waits; those after it pass. */
function holdNextTokenRequest(): { readonly arrived: Promise<void>; release(): void } {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<TokenVerdict>();
  let isFirst = true;
  world.authorizationServer.setTokenGate(() => {
    if (!isFirst) return 'pass';
    isFirst = false;
    arrived.resolve();
    return released.promise;
  });
  return { arrived: arrived.promise, release: () => released.resolve('pass') };
}

/** The vault takes the note of the attempt, and refuses what comes of it. */
async function refusedRotation(rig: Rig): Promise<unknown> {
  const held = holdNextTokenRequest();
  const asked = refusal(rig.ask());
  await held.arrived;
  rig.vault.failing.add('set');
  held.release();
  return asked;
}

describe('a rotated refresh token', () => {
  it('PROMISE-3: is in the vault before any caller has the new access token', async () => {
    const rig = await needingRefresh();
    const before = await storedToken(rig);
    const order: string[] = [];
    const asked = Array.from({ length: 3 }, () =>
      rig.ask().then(async () => {
        order.push(...rig.vault.done, 'answered');
        return storedToken(rig);
      }),
    );
    const stored = await Promise.all(asked);
    const write = `set ${rig.signIn().item}`;
    expect(order.slice(0, 3)).toEqual([write, write, 'answered']);
    expect(stored[0]).not.toBe(before);
  });

  it('no rotated refresh token is asked for when the vault could not keep it', async () => {
    const rig = await needingRefresh();
    const before = counts().tokenRequests;
    rig.vault.failing.add('set');
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'vault_unavailable' });
    expect(counts().tokenRequests).toBe(before);
    rig.vault.failing.clear();
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
  });

  it('that the vault refuses stays in memory, and is written before it is used', async () => {
    const rig = await needingRefresh();
    const before = counts();
    expect(await refusedRotation(rig)).toMatchObject({ reason: 'vault_unavailable' });
    expect(counts().refreshes).toBe(before.refreshes + 1);
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'vault_unavailable' });
    expect(counts().tokenRequests).toBe(before.tokenRequests + 1);
    rig.vault.failing.clear();
    rig.vault.done.length = 0;
    expect((await rig.ask({ interaction: 'never' })).accessToken).toBeTypeOf('string');
    const write = `set ${rig.signIn().item}`;
    // The token that it refused; the next attempt; the next token.
    expect(rig.vault.done).toEqual([write, write, write]);
    expect(counts().refreshReuses).toBe(before.refreshReuses);
    expect(rig.pages).toHaveLength(1);
  });

  it('that the vault refuses is written when the broker stops, if the vault is back', async () => {
    const rig = await needingRefresh();
    const before = await storedToken(rig);
    await refusedRotation(rig);
    await rig.parts.refresher.settled();
    expect(await storedToken(rig)).toBe(before);
    rig.vault.failing.clear();
    await rig.parts.refresher.settled();
    expect(await storedToken(rig)).not.toBe(before);
  });

  it('PROMISE-3: that the vault refuses never overwrites the token of a newer sign-in', async () => {
    const rig = await needingRefresh();
    await refusedRotation(rig);
    rig.vault.failing.clear();
    await rig.login();
    const newest = await storedToken(rig);
    await rig.parts.refresher.settled();
    expect(await storedToken(rig)).toBe(newest);
    rig.clock.advance(hour);
    expect((await rig.ask({ interaction: 'never' })).accessToken).toBeTypeOf('string');
  });

  it('is kept when the access token beside it must be refused', async () => {
    const server = oddServer(site, { scopesSupported: ['read'] });
    const rig = await usedRig(server);
    rig.clock.advance(hour);
    server.answer = (_form, usual) => ({ ...usual, token_type: 'mac' });
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'token_invalid' });
    server.answer = (_form, usual) => usual;
    rig.clock.advance(1000);
    await rig.ask();
    const used = server.tokenRequests.map((form) => form.get('refresh_token'));
    expect(used).toEqual([null, 'refresh-1', 'refresh-2']);
  });

  it('is kept through the stop of the broker', async () => {
    const rig = await needingRefresh();
    const before = await storedToken(rig);
    const held = holdNextTokenRequest();
    const asked = rig.ask();
    await held.arrived;
    const settled = rig.parts.refresher.settled();
    held.release();
    await settled;
    expect(await storedToken(rig)).not.toBe(before);
    await asked;
  });
});

describe('a slow refresh', () => {
  it('PROMISE-3: writes nothing over a sign-in that came meanwhile', async () => {
    const rig = await needingRefresh();
    const held = holdNextTokenRequest();
    const asked = rig.ask();
    await held.arrived;
    const { codesRedeemed } = counts();
    const login = rig.login();
    while (counts().codesRedeemed === codesRedeemed) await turnOfEvents();
    held.release();
    await asked;
    const { item, earlier = [] } = await login;
    const before = counts();
    rig.clock.advance(hour);
    expect((await rig.ask({ interaction: 'never' })).accessToken).toBeTypeOf('string');
    expect(counts().refreshes).toBe(before.refreshes + 1);
    expect(counts().refreshReuses).toBe(before.refreshReuses);
    // The token of the refresh isn't lost either: a revocation will reach it.
    expect(earlier).toHaveLength(1);
    expect(earlier[0]?.item).not.toBe(item);
  });

  it('gives no token after a revocation, and what it brought is revoked, too', async () => {
    const rig = await needingRefresh();
    const held = holdNextTokenRequest();
    const asked = refusal(rig.ask());
    await held.arrived;
    const revoked = revokeSignIn(rig.parts, rig.signIn());
    expect(rig.signIn().state).toMatchObject({ kind: 'revoked' });
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'login_required' });
    const before = counts().revocations;
    const { item = '' } = rig.signIn();
    held.release();
    expect((await revoked).receipt).toBe('confirmed');
    expect(await asked).toMatchObject({ reason: 'login_required' });
    expect(rig.signIn().state).toMatchObject({ kind: 'revoked', receipt: 'confirmed' });
    expect(await getIfAny(rig.vault, item)).toBeUndefined();
    expect(rig.parts.cache.of(rig.signIn().id)).toEqual([]);
    expect(counts().revocations).toBeGreaterThan(before);
  });

  it('PROMISE-8: gives no token when the revocation comes during its last write', async () => {
    const rig = await needingRefresh();
    const { cache, refresher } = rig.parts;
    const revoked = Promise.withResolvers<unknown>();
    const rotate = refresher.secrets.rotate.bind(refresher.secrets);
    vi.spyOn(refresher.secrets, 'rotate').mockImplementationOnce(async (item, secret) => {
      const written = rotate(item, secret);
      revoked.resolve(revokeSignIn(rig.parts, rig.signIn()));
      return written;
    });
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'login_required' });
    await revoked.promise;
    expect(rig.signIn().state).toMatchObject({ kind: 'revoked', receipt: 'confirmed' });
    expect(cache.of(rig.signIn().id)).toEqual([]);
  });

  it('is reported as under way while it lasts', async () => {
    const rig = await needingRefresh();
    const held = holdNextTokenRequest();
    const asked = rig.ask();
    await held.arrived;
    expect(rig.parts.refresher.turns.isTaken(rig.signIn().id)).toBe(true);
    held.release();
    await asked;
    expect(rig.parts.refresher.turns.isTaken(rig.signIn().id)).toBe(false);
  });
});

/** Signed in, over a vault that notes its calls. */
async function countingRig() {
  const calls: string[] = [];
  const front = (vault: Vault): Vault => ({
    ...vault,
    get: async (name) => {
      calls.push(`get ${name}`);
      return vault.get(name);
    },
    set: async (name, text) => {
      calls.push(`set ${name}`);
      await vault.set(name, text);
    },
    replace: async (name, before, after) => {
      calls.push(`replace ${name}`);
      return vault.replace(name, before, after);
    },
  });
  const options = { front, documentFront: front };
  const rig = await usedRig(inWorld(world), options);
  rig.clock.advance(hour);
  const { item } = rig.signIn();
  return { rig, calls, options, asked: ['get newest', `get ${item}`, `set ${item}`, `set ${item}`] };
}

describe('a refresh', () => {
  it('reads the number of the document and its own item, and writes that item twice', async () => {
    const { rig, calls, asked } = await countingRig();
    calls.length = 0;
    await rig.ask();
    expect(calls).toEqual(asked);
  });

  it.each([0, 299])(
    'the first token after a start reads no other item: %d other sign-ins',
    async (others) => {
      const { rig, calls, options, asked } = await countingRig();
      const { id: _, ...one } = rig.signIn();
      const endpoints = Array.from({ length: others }, (_one, n) => `https://server-${n}.example/mcp`);
      const add = (endpoint: string): Promise<SignIn> =>
        rig.parts.signIns.add({ ...one, resource: endpoint, endpoints: [endpoint], item: newItemName('s') });
      await Promise.all(endpoints.map(add));
      calls.length = 0;
      const next = await brokerRig(inWorld(world), { ...options, after: rig });
      await next.ask();
      // The document is verified once.
      expect(calls).toEqual(['get newest', ...asked]);
    },
  );

  it('whose answer got lost leads to a new sign-in, not to a lost one', async () => {
    const rig = await needingRefresh();
    world.failTokenRequests(1, 'loseAnswer');
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'authorization_server_unreachable' });
    expect(rig.signIn().state).toEqual({ kind: 'active' });
    rig.clock.advance(1000);
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
    expect(rig.pages).toHaveLength(2);
  });

  it('of a sign-in whose item the vault can’t read is refused, and the sign-in stays', async () => {
    const rig = await needingRefresh();
    await rig.vault.set(rig.signIn().item ?? '', '{"refreshToken":7}');
    const before = counts().tokenRequests;
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'vault_unreadable' });
    expect(counts().tokenRequests).toBe(before);
    expect(rig.signIn().state).toEqual({ kind: 'active' });
    expect(await rig.vault.get(rig.signIn().item ?? '')).toBe('{"refreshToken":7}');
  });

  it.each([['a'], ['a', 'b']])(
    'W-8: that succeeds ends the count of earlier refusals: %s %s',
    async (...scope) => {
      const server = oddServer(site);
      const rig = await brokerRig(server);
      await rig.login({ scope: ['a', 'b'] });
      await rig.allow('editor', scope);
      for (let round = 0; round < 4; round += 1) {
        rig.clock.advance(hour);
        server.answer = () => ({ status: 400, body: '{"error":"invalid_scope"}' });
        expect(await refusal(rig.ask())).toMatchObject({ retryAfter: 1 });
        server.answer = (_form, usual) => usual;
        rig.clock.advance(1000);
        await rig.ask();
      }
    },
  );

  it('T-1 W-6: of several scope sets takes turns, each with the previous refresh token', async () => {
    const server = oddServer(site);
    const rig = await brokerRig(server);
    await rig.login({ scope: ['a', 'b', 'c'] });
    for (const scope of ['a', 'b', 'c']) await rig.allow(scope, [scope]);
    await Promise.all(['a', 'b', 'c'].map((appId) => rig.ask({ appId })));
    const used = server.tokenRequests.map((form) => form.get('refresh_token'));
    expect(used).toEqual([null, 'refresh-1', 'refresh-2', 'refresh-3']);
  });
});
