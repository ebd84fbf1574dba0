/** A refresh that the server refuses for a reason that no waiting fixes (RFC 6749 §5.2, RFC 8707 §2). */
import { describe, expect, it } from 'vitest';
import { explainSignIn } from '../../src/broker/explain.ts';
import { json, type Answer } from '../support/bent/server.ts';
import type { Rig } from '../broker/rig.ts';
import { aWhile, hour, enter, ground, keptItem, never, refreshes, refused } from './ground.ts';
import { refusing, takesDocuments } from './ground.ts';
import { asOwner } from './wire.ts';

/** A program that asks for half an hour, twice for each try that the broker might make. */
async function insisting({ ask, clock }: Rig): Promise<void> {
  for (let n = 0; n < 12; n += 1) {
    if (n % 2 === 0) clock.advance(aWhile);
    await refused(ask(never));
  }
}

async function listed(rig: Rig): Promise<unknown> {
  return ((await asOwner(rig)('signIn.list')) as { signIns: unknown[] }).signIns[0];
}

const errors: readonly (readonly [string, string])[] = [
  ['invalid_target', 'resource_mismatch'],
  ['unauthorized_client', 'client_rejected'],
  ['invalid_request', 'login_failed'],
  ['invalid_scope', 'scope_insufficient'],
  ['interaction_required', 'login_failed'],
];

describe('a refresh that the server refuses', () => {
  it.each(errors)('W-8: with %s is tried three times, and then a user signs in', async (code, reason) => {
    const all = await refusing(json({ error: code }, 400));
    const { rig, authorizationServer, restarted } = all;
    const kept = await keptItem(rig);
    expect(await refused(rig.ask(never))).toMatchObject({ reason, retryAfter: 1 });
    expect(await refused(rig.ask(never))).toMatchObject({ reason, retryAfter: 1 });
    expect(refreshes(all)).toBe(1);
    expect(await listed(rig)).toMatchObject({ state: 'active', trouble: { reason } });
    expect(explainSignIn(rig.parts, rig.signIn()).now).toContain(code);
    await insisting(rig);
    expect(refreshes(all)).toBe(3);
    expect(await keptItem(rig)).toEqual(kept);
    const why = expect.stringContaining(code);
    expect(await listed(rig)).toMatchObject({ state: 'signInRequired', why });
    expect(explainSignIn(rig.parts, rig.signIn()).now).toContain(code);
    const again = await restarted();
    expect(await refused(again.ask(never))).toMatchObject({ reason: 'login_required', message: why });
    expect(refreshes(all)).toBe(3);
    authorizationServer.bend.tokenRequest = undefined;
    await again.login();
    again.clock.advance(hour);
    expect((await again.ask(never)).accessToken).toBeTypeOf('string');
    expect(rig.pages).toHaveLength(1);
  });

  it('with another server’s answer continues once the user waives that rule', async () => {
    const { rig, authorizationServer } = await ground({ authorization: { accessTokenFormat: 'jwt' } });
    await rig.ask();
    authorizationServer.bend.accessTokenClaims = (claims) => ({ ...claims, aud: 'https://other.example' });
    rig.clock.advance(hour);
    await insisting(rig);
    expect(rig.signIn().state).toMatchObject({ kind: 'signInRequired' });
    await asOwner(rig)('exception.set', { server: rig.endpoint, name: 'audience', on: true });
    expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
    expect(rig.pages).toHaveLength(1);
  });

  it('W-8: is tried three times if the server can’t fetch the client’s document', async () => {
    const all = await refusing(json({ error: 'invalid_client' }, 401), takesDocuments);
    await insisting(all.rig);
    expect(refreshes(all)).toBe(3);
    expect(all.rig.signIn().state).toMatchObject({ why: expect.stringContaining('invalid_client') });
    expect(all.authorizationServer.counts.registrations).toBe(0);
  });

  it('W-8: for want of the user continues when the server accepts it again', async () => {
    const { rig, authorizationServer } = await ground();
    await rig.ask();
    for (const code of ['interaction_required', 'login_required']) {
      authorizationServer.server.next('POST', '/token', json({ error: code }, 400));
      rig.clock.advance(hour);
      const error = await refused(rig.ask(never));
      expect(error).toMatchObject({ reason: 'login_failed', hint: expect.stringContaining('Sign in again') });
      rig.clock.advance(aWhile);
      expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
    }
    expect(rig.pages).toHaveLength(1);
  });
});

describe('a scope set that the server doesn’t narrow to', () => {
  it.each(errors)('refused with %s pauses, and ends nothing', async (code, reason) => {
    const all = await ground();
    const { rig, authorizationServer } = all;
    await rig.login({ scope: ['read', 'admin'] });
    await rig.allow('reader', ['read']);
    authorizationServer.bend.tokenRequest = ({ form }) =>
      form.has('scope') ? json({ error: code }, 400) : undefined;
    const reading = () => refused(rig.ask({ appId: 'reader', ...never }));
    rig.clock.advance(hour);
    expect(await reading()).toMatchObject({ reason, retryAfter: 1 });
    // The refresh of the whole sign-in doesn't wait for the end of that pause.
    expect((await rig.ask(never)).scope).toEqual(['read', 'admin']);
    for (let n = 0; n < 4; n += 1) {
      rig.clock.advance(aWhile);
      expect(await reading()).toMatchObject({ reason });
    }
    expect(rig.signIn().state).toEqual({ kind: 'active' });
    expect((await rig.ask(never)).scope).toEqual(['read', 'admin']);
    expect(await reading()).toMatchObject({ retryAfter: expect.any(Number) });
    authorizationServer.bend.tokenRequest = undefined;
    // What the user fixes counts for narrower tokens at once.
    await asOwner(rig)('exception.set', { server: rig.endpoint, name: 'no-pkce-metadata', on: true });
    expect((await rig.ask({ appId: 'reader', ...never })).scope).toEqual(['read']);
  });

  it.each<[string, Answer, string]>([
    ['401 invalid_request', json({ error: 'invalid_request' }, 401), 'login_failed'],
    ['an empty 400', { status: 400 }, 'scope_insufficient'],
  ])('T-2: refused with %s, which others say of dead tokens, ends nothing', async (_what, answer, reason) => {
    const { rig, authorizationServer } = await ground();
    await rig.login({ scope: ['read', 'admin'] });
    await rig.allow('reader', ['read']);
    authorizationServer.bend.tokenRequest = ({ form }) => (form.has('scope') ? answer : undefined);
    rig.clock.advance(hour);
    expect(await refused(rig.ask({ appId: 'reader', ...never }))).toMatchObject({ reason, retryAfter: 1 });
    expect(rig.signIn().state).toEqual({ kind: 'active' });
    expect((await rig.ask(never)).scope).toEqual(['read', 'admin']);
    authorizationServer.bend.tokenRequest = () => answer;
    rig.clock.advance(hour);
    await refused(rig.ask(never));
    expect(rig.signIn().state).toMatchObject({ kind: 'signInRequired' });
  });

  it('invalid_grant for a scope set ends the sign-in, since its refresh token is dead', async () => {
    const { rig, authorizationServer } = await ground();
    await rig.login({ scope: ['read', 'admin'] });
    await rig.allow('reader', ['read']);
    authorizationServer.bend.tokenRequest = () => json({ error: 'invalid_grant' }, 400);
    await refused(rig.ask({ appId: 'reader', ...never }));
    expect(rig.signIn().state).toMatchObject({ kind: 'signInRequired' });
  });
});

describe('a client that the server no longer takes at a refresh', () => {
  it('a self-registered client needs a sign-in at once, unless the server knows it again later', async () => {
    const all = await refusing(json({ error: 'invalid_client' }, 401));
    const { rig, authorizationServer } = all;
    const kept = await keptItem(rig);
    for (let n = 0; n < 2; n += 1)
      expect(await refused(rig.ask(never))).toMatchObject({ reason: 'login_required' });
    expect(refreshes(all)).toBe(1);
    expect(await keptItem(rig)).toEqual(kept);
    expect(await listed(rig)).toMatchObject({ why: expect.stringContaining('OAuth client') });
    authorizationServer.bend.tokenRequest = undefined;
    rig.clock.advance(aWhile);
    expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
  });

  it('an entered client continues without a sign-in once it is entered again', async () => {
    const all = await ground();
    const { rig, authorizationServer } = all;
    const basic = { authMethod: 'client_secret_basic' } as const;
    await enter(rig, authorizationServer, { clientSecret: 'first', ...basic }, basic);
    await rig.ask();
    const client = { redirectUris: [], ...basic, clientId: 'by-hand' };
    authorizationServer.addClient({ ...client, secret: 'next' });
    rig.clock.advance(hour);
    expect(await refused(rig.ask(never))).toMatchObject({
      reason: 'client_rejected',
      hint: expect.stringContaining('keyturn oauth-client add'),
    });
    await insisting(rig);
    expect(rig.signIn().state).toMatchObject({ kind: 'signInRequired' });
    await enter(rig, authorizationServer, { clientSecret: 'next', ...basic }, { ...client, secret: 'next' });
    expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
    expect(rig.pages).toHaveLength(1);
  });
});
