/** One program's narrower permission at servers that narrow a refresh token for good (against RFC 6749 §6). */
import { describe, expect, it } from 'vitest';
import { revokeSignIn } from '../../src/broker/revocation/revoker.ts';
import { explainSignIn } from '../../src/broker/explain.ts';
import type { Rig } from '../broker/rig.ts';
import { json, type RecordedRequest } from '../support/bent/server.ts';
import { hour, ground, never, refused, reject, scopeOf, tokenRequests, use, type Ground } from './ground.ts';

const reader = { appId: 'reader', ...never } as const;

/** `editor` may have all scopes, `reader` one of them, and has asked for it. */
async function narrowed(narrowing: 'forGood' | 'endsOthers' = 'forGood'): Promise<Ground> {
  const all = await ground({ authorization: { narrowing } });
  await all.rig.login({ scope: ['read', 'admin'] });
  await all.rig.allow('reader', ['read']);
  expect((await all.rig.ask(reader)).scope).toEqual(['read']);
  all.rig.clock.advance(hour);
  return all;
}

const scopesAsked = ({ authorizationServer }: Ground): (string | null)[] =>
  tokenRequests(authorizationServer, 'refresh_token').map(({ form }) => form.get('scope'));

const stored = async ({ vault, signIn }: Rig): Promise<Record<string, unknown>> =>
  JSON.parse(await vault.get(signIn().item ?? ''));

describe('a refresh token that a narrower refresh narrowed for good', () => {
  it('W-9: is reported, and one sign-in brings its scopes back', async () => {
    const all = await narrowed();
    const { rig } = all;
    const error = await refused(rig.ask({ scope: ['admin'], ...never }));
    expect(error).toMatchObject({ reason: 'login_required', message: expect.stringContaining('took admin') });
    expect(error.message).not.toContain('did not grant');
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'login_required' });
    expect(explainSignIn(rig.parts, rig.signIn()).now).toContain('took admin');
    expect(rig.pages).toHaveLength(1);
    expect((await rig.ask({ scope: ['admin'] })).scope).toEqual(['read', 'admin']);
    expect(rig.pages).toHaveLength(2);
    rig.clock.advance(hour);
    expect((await rig.ask(never)).scope).toEqual(['read', 'admin']);
    expect(explainSignIn(rig.parts, rig.signIn()).now).toContain('It is usable');
  });

  it('W-9: is noticed, and remembered over restarts', async () => {
    const { rig, restarted } = await narrowed();
    const second = await restarted();
    second.clock.advance(hour);
    expect(await refused(second.ask(never))).toMatchObject({
      message: expect.stringContaining('took admin'),
    });
    expect(await stored(rig)).toMatchObject({ scope: ['read'], narrowedTo: ['read'] });
    expect(second.signIn()).toMatchObject({ scope: ['read'], lostScope: ['admin'] });
    const third = await restarted();
    expect(await refused(third.ask({ scope: ['admin'], ...never }))).toMatchObject({
      message: expect.stringContaining('took admin'),
    });
  });
});

describe('an issuer that was seen to narrow for good', () => {
  it('W-9: is asked for no narrower token: the app is refused, no other loses a scope', async () => {
    const all = await narrowed();
    const { rig } = all;
    await rig.ask();
    rig.clock.advance(hour);
    const before = scopesAsked(all).length;
    const error = await refused(rig.ask(reader));
    expect(error).toMatchObject({
      reason: 'scope_insufficient',
      message: expect.stringContaining('permanently'),
    });
    expect(error.hint).toContain('keyturn app allow');
    expect((await rig.ask(never)).scope).toEqual(['read', 'admin']);
    expect(scopesAsked(all).slice(before)).toEqual([null]);
    await rig.allow('reader', ['read', 'admin']);
    expect((await rig.ask(reader)).scope).toEqual(['read', 'admin']);
  });

  it('W-9: gives the narrow program a sign-in of its own', async () => {
    const all = await narrowed();
    const { rig, restarted } = all;
    await rig.ask();
    rig.clock.advance(hour);
    const before = scopesAsked(all).length;
    const [shared] = rig.parts.signIns.all();
    expect((await rig.ask({ appId: 'reader' })).scope).toEqual(['read']);
    expect(scopeOf(rig.pages.at(-1))).toEqual(['read']);
    expect(rig.pages).toHaveLength(3);
    expect(rig.parts.signIns.byId(shared?.id ?? '')).toEqual(shared);
    const own = rig.parts.signIns.all().find(({ id }) => id !== shared?.id);
    expect(own).toMatchObject({ purpose: { kind: 'narrow', appId: 'reader' }, scope: ['read'] });
    expect(explainSignIn(rig.parts, own ?? expect.fail()).now).toContain('by "reader" alone');
    const after = await restarted();
    for (let n = 0; n < 3; n += 1) {
      after.clock.advance(hour);
      expect((await after.ask(never)).scope).toEqual(['read', 'admin']);
      expect((await after.ask(reader)).scope).toEqual(['read']);
    }
    expect(scopesAsked(all).slice(before)).toEqual(Array(6).fill(null));
    expect(after.pages).toHaveLength(0);
    await after.allow('other', ['read']);
    expect(await refused(after.ask({ appId: 'other', ...never }))).toMatchObject({
      reason: 'scope_insufficient',
    });
  });

  it('opens no page if the user ended the narrow program’s own sign-in', async () => {
    const { rig } = await narrowed();
    await rig.ask();
    rig.clock.advance(hour);
    await rig.ask({ appId: 'reader' });
    const own = rig.parts.signIns.all().find(({ purpose }) => purpose);
    rig.clock.advance(1000);
    await revokeSignIn(rig.parts, own ?? expect.fail());
    expect(await refused(rig.ask({ appId: 'reader' }))).toMatchObject({ reason: 'login_required' });
    expect(rig.pages).toHaveLength(3);
    rig.clock.advance(1000);
    await rig.login({ scope: ['read', 'admin'] });
    expect((await rig.ask({ appId: 'reader' })).scope).toEqual(['read']);
    expect(rig.pages).toHaveLength(5);
  });

  it('keeps nothing of another account that signs in for a narrow program', async () => {
    const { rig, authorizationServer } = await ground({ authorization: { narrowing: 'forGood' } });
    await rig.login({ scope: ['openid', 'read', 'admin'] });
    await rig.allow('reader', ['openid', 'read']);
    await rig.ask(reader);
    rig.clock.advance(hour);
    await rig.ask();
    rig.clock.advance(hour);
    authorizationServer.settings.subject = 'mallory';
    expect(await refused(rig.ask({ appId: 'reader' }))).toMatchObject({ reason: 'account_mismatch' });
    expect(rig.signIn().account).toBe('alice');
    expect(authorizationServer.counts.revocations).toBeGreaterThan(0);
  });
});

describe('a server that ends the other access token at a refresh', () => {
  it('W-9: is asked for no narrower token after the first report', async () => {
    const all = await narrowed('endsOthers');
    const { rig, restarted } = all;
    const ended = await rig.ask(never);
    await rig.ask(reader);
    expect((await use(all, ended.accessToken)).status).toBe(401);
    reject(rig, ended);
    const full = await rig.ask(never);
    rig.clock.advance(hour);
    expect(await refused(rig.ask(reader))).toMatchObject({ reason: 'scope_insufficient' });
    const narrow = await rig.ask({ appId: 'reader' });
    expect(rig.pages).toHaveLength(2);
    const again = await rig.ask(never);
    expect(full.tokenId).not.toBe(again.tokenId);
    for (const token of [narrow, again]) expect((await use(all, token.accessToken)).status).toBe(200);
    const after = await restarted();
    after.clock.advance(hour);
    const [one, other] = [await after.ask(never), await after.ask(reader)];
    for (const token of [one, other]) expect((await use(all, token.accessToken)).status).toBe(200);
  });

  it('is not believed for good when a program alone reports it', async () => {
    const all = await ground();
    const { rig } = all;
    await rig.login({ scope: ['read', 'admin'] });
    await rig.allow('reader', ['read']);
    await rig.allow('third', ['read']);
    const third = { appId: 'third', ...never };
    rig.clock.advance(hour);
    const good = await rig.ask(reader);
    await rig.ask(never);
    rig.broker.rejections.reject({ appId: 'reader', token: { tokenId: good.tokenId } });
    rig.clock.advance(hour);
    await rig.ask(never);
    expect(await refused(rig.ask(third))).toMatchObject({ reason: 'scope_insufficient' });
    expect(rig.signIn().lostScope).toBeUndefined();
    rig.clock.advance(24 * hour);
    expect((await rig.ask(third)).scope).toEqual(['read']);
  });
});

it('an issuer that narrows at one server takes no scope at the other', async () => {
  const all = await narrowed();
  const { rig, world, authorizationServer, restarted } = all;
  await refused(rig.ask(never));
  const other = await world.openProtectedServer({ authorizationServers: [authorizationServer] });
  await rig.login({ resource: other.url, scope: ['read', 'admin'] });
  await rig.allow('reader', ['read'], other.url);
  const after = await restarted();
  const before = scopesAsked(all).length;
  const error = await refused(after.ask({ ...reader, resource: other.url }));
  expect(error.message).toContain('permanently');
  expect(scopesAsked(all)).toHaveLength(before);
});

it.each([
  ['before any narrower token was asked for', async () => undefined],
  ['after a full one had come back', async ({ rig }: Ground) => void (await rig.ask(never))],
])('a server that narrows the access token is believed if it takes a scope back %s', async (_what, first) => {
  const all = await ground();
  const { rig, authorizationServer } = all;
  await rig.login({ scope: ['read', 'admin'] });
  await rig.allow('reader', ['read']);
  rig.clock.advance(hour);
  if (_what.startsWith('after')) await rig.ask(reader);
  await first(all);
  const less = ({ form }: RecordedRequest): boolean => form.get('grant_type') === 'refresh_token';
  authorizationServer.bend.tokenAnswer = ({ body }, request) =>
    json(less(request) ? { ...body, scope: 'read' } : body);
  rig.clock.advance(hour);
  expect((await rig.ask(never)).scope).toEqual(['read']);
  expect(rig.signIn()).toMatchObject({ scope: ['read'], state: { kind: 'active' } });
  expect(rig.signIn().lostScope).toBeUndefined();
});
