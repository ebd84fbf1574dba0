/** Ending a sign-in: here at once, at the server as soon as it can be reached, and for all its tokens. */
import { describe, expect, it } from 'vitest';
import { explainSignIn } from '../../../src/broker/explain.ts';
import { revokeSignIn } from '../../../src/broker/revocation/revoker.ts';
import { oddServer, type OddServer } from '../odd-server.ts';
import { brokerRig, usedRig, signedInRig, inWorld, refusal, type Rig } from '../rig.ts';
import { getIfAny } from '../../../src/vault/base/vault.ts';
import { worldAndSite } from '../places.ts';

const { world, site } = worldAndSite();

/** Two sign-ins and a token in use, at a server whose tokens have numbers. */
async function twice(): Promise<{ server: OddServer; rig: Rig }> {
  const server = oddServer(site, { scopesSupported: ['read'] });
  const rig = await signedInRig(server);
  await rig.login();
  await rig.ask();
  return { server, rig };
}

/** The tokens that the server was told to end, in order. */
const told = (): (string | null)[] =>
  site.asked
    .filter(({ path }) => path === '/revoke')
    .map(({ body }) => new URLSearchParams(body).get('token'));

describe('a revocation', () => {
  it('that the server confirms ends the token there and deletes its item here', async () => {
    const rig = await brokerRig(inWorld(world));
    await rig.allow();
    const { accessToken } = await rig.ask();
    const { item = '' } = rig.signIn();
    const { receipt, signIn } = await revokeSignIn(rig.parts, rig.signIn());
    expect(receipt).toBe('confirmed');
    expect(signIn).toMatchObject({
      state: { kind: 'revoked', receipt: 'confirmed' },
      hasRefreshToken: false,
    });
    expect(await getIfAny(rig.vault, item)).toBeUndefined();
    expect(signIn.item).toBeUndefined();
    const response = await world.fetch(rig.endpoint, { headers: { authorization: `Bearer ${accessToken}` } });
    expect(response.status).toBe(401);
  });

  it('of a sign-in that the vault lost says so, and asks no server', async () => {
    const { rig } = await twice();
    const kept = rig.signIn();
    const { id: _id, ...fields } = kept;
    const ghost = await rig.parts.signIns.add({ ...fields, item: `s-${'x'.repeat(22)}`, earlier: undefined });
    expect(explainSignIn(rig.parts, ghost).now).toMatch(/^It is usable;/);
    expect(await refusal(rig.parts.refresher.secrets.read(ghost))).toMatchObject({
      reason: 'vault_unreadable',
    });
    expect(explainSignIn(rig.parts, ghost)).toMatchObject({
      now: 'The vault has no token for it. No app can get one.',
      next: expect.stringContaining(`keyturn logout ${ghost.id}`),
      refresh: { by: 'signIn' },
    });
    const { receipt, signIn } = await revokeSignIn(rig.parts, ghost);
    expect(receipt).toBe('abandoned');
    expect(signIn.state).toMatchObject({ kind: 'revoked', receipt: 'abandoned' });
    expect(told()).toEqual([]);
    expect(explainSignIn(rig.parts, kept).now).toMatch(/^It is usable;/);
  });

  it('that can’t reach the server takes effect here, and a second one finishes it', async () => {
    const { rig } = await twice();
    site.lay('/revoke', { status: 503 });
    expect((await revokeSignIn(rig.parts, rig.signIn())).receipt).toBe('pending');
    expect(rig.signIn().state).toMatchObject({ kind: 'revoked', receipt: 'pending' });
    const { item = '' } = rig.signIn();
    expect(await rig.vault.get(item)).toContain('refresh-2');
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'login_required' });
    site.lay('/revoke', { status: 200 });
    site.asked.length = 0;
    expect((await revokeSignIn(rig.parts, rig.signIn())).receipt).toBe('confirmed');
    // A restart would lose the access token in memory, so it was put into the vault.
    expect(told()).toEqual(['refresh-2', 'refresh-1', 'access-2']);
    expect(await getIfAny(rig.vault, item)).toBeUndefined();
  });

  it('reaches a rotated token that the vault had refused', async () => {
    const { rig, server } = await twice();
    rig.clock.advance(3_600_000);
    server.answer = (_form, usual) => {
      rig.vault.failing.add('set');
      return usual;
    };
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'vault_unavailable' });
    rig.vault.failing.clear();
    site.asked.length = 0;
    await revokeSignIn(rig.parts, rig.signIn());
    // The access token is over by now, so it need not be revoked.
    expect(told()).toEqual(['refresh-3', 'refresh-1']);
  });

  it('requested twice at once is sent once, with the same receipt for both', async () => {
    const { rig } = await twice();
    const both = await Promise.all([
      revokeSignIn(rig.parts, rig.signIn()),
      revokeSignIn(rig.parts, rig.signIn()),
    ]);
    expect(both.map(({ receipt }) => receipt)).toEqual(['confirmed', 'confirmed']);
    expect(told()).toHaveLength(3);
  });
});

describe('a revoked sign-in', () => {
  it('gives no token and opens no page until the user signs in', async () => {
    const { rig } = await twice();
    await revokeSignIn(rig.parts, rig.signIn());
    const pages = rig.pages.length;
    expect(await refusal(rig.ask())).toMatchObject({ reason: 'login_required' });
    expect(rig.pages).toHaveLength(pages);
    await rig.login();
    expect((await rig.ask()).accessToken).toBe('access-3');
  });

  it('is not revived by an automatic sign-in that was under way', async () => {
    const server = oddServer(site, { scopesSupported: ['read'] });
    const rig = await usedRig(server);
    server.answer = (form, usual) =>
      form.get('grant_type') === 'refresh_token' ? { status: 400, body: { error: 'invalid_grant' } } : usual;
    rig.clock.advance(3_600_000);
    const answered = Promise.withResolvers<void>();
    server.beforeVisit = () => answered.promise;
    const asked = refusal(rig.ask());
    await rig.question('signIn');
    await revokeSignIn(rig.parts, rig.signIn());
    answered.resolve();
    expect(await asked).toMatchObject({ reason: 'login_required' });
    expect(rig.signIn().state).toMatchObject({ kind: 'revoked', receipt: 'pending' });
    expect(rig.pages).toHaveLength(2);
    // The token that still came is revoked at the server too.
    site.asked.length = 0;
    expect((await revokeSignIn(rig.parts, rig.signIn())).receipt).toBe('confirmed');
    expect(told()).toEqual(['refresh-3']);
  });
});
