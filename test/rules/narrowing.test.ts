/** One program's narrower permission at servers that narrow a refresh token for good (against RFC 6749 §6). */
import { describe, expect, it } from 'vitest';
import { explainGrant } from '../../src/broker/explain.ts';
import type { Rig } from '../broker/rig.ts';
import { json } from '../support/bent/server.ts';
import type { RecordedRequest } from '../support/bent/server.ts';
import { ground, refused, tokenRequests } from './ground.ts';
import type { Ground } from './ground.ts';

const anHour = 3_600_000;
const never = { interaction: 'never' } as const;
const reader = { clientId: 'reader', ...never } as const;

/** `editor` may have all scopes, `reader` one of them, and has asked for it. */
async function narrowed(authorization = { narrowing: 'forGood' } as const): Promise<Ground> {
  const all = await ground({ authorization });
  await all.rig.login({ scope: ['read', 'admin'] });
  await all.rig.allow('reader', ['read']);
  expect((await all.rig.ask(reader)).scope).toEqual(['read']);
  all.rig.clock.advance(anHour);
  return all;
}

const scopesAsked = ({ authorizationServer }: Ground): (string | null)[] =>
  tokenRequests(authorizationServer, 'refresh_token').map(({ form }) => form.get('scope'));

const stored = async ({ vault, grant }: Rig): Promise<Record<string, unknown>> =>
  JSON.parse(await vault.read(`grant.${grant().id}`));

describe('a refresh token that a narrower refresh narrowed for good', () => {
  it('W-9: reports a refresh token that a narrower refresh narrowed for good, and one sign-in brings its scopes back', async () => {
    const all = await narrowed();
    const { rig } = all;
    const error = await refused(rig.ask({ scope: ['admin'], ...never }));
    expect(error).toMatchObject({ reason: 'login_required', message: expect.stringContaining('took admin') });
    expect(error.message).not.toContain('did not grant');
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'login_required' });
    expect(explainGrant(rig.parts, rig.grant()).now).toContain('took admin');
    expect(rig.pages).toHaveLength(1);
    expect((await rig.ask({ scope: ['admin'] })).scope).toEqual(['read', 'admin']);
    expect(rig.pages).toHaveLength(2);
    rig.clock.advance(anHour);
    expect((await rig.ask(never)).scope).toEqual(['read', 'admin']);
    expect(explainGrant(rig.parts, rig.grant()).now).toContain('It is usable');
  });

  it('a full refresh that only leaves out the scopes of OpenID Connect doesn’t count as narrowed for good', async () => {
    const { rig, authorizationServer } = await ground();
    await rig.login({ scope: ['openid', 'read'] });
    await rig.allow('reader', ['read']);
    expect((await rig.ask(reader)).scope).toEqual(['read']);
    rig.clock.advance(anHour);
    authorizationServer.bend.tokenAnswer = (answer) => ({ ...answer, scope: 'read' });
    expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
    expect(rig.grant().lostScope).toBeUndefined();
    rig.clock.advance(anHour);
    expect((await rig.ask(reader)).scope).toEqual(['read']);
    expect(rig.pages).toHaveLength(1);
  });

  it('a request that names no scopes notices too that a refresh token was narrowed for good', async () => {
    const { rig } = await narrowed();
    expect((await rig.ask()).scope).toEqual(['read', 'admin']);
    expect(rig.pages).toHaveLength(2);
  });

  it('a refresh token that was narrowed for good still serves programs that need no more', async () => {
    const { rig } = await narrowed();
    await refused(rig.ask(never));
    expect((await rig.ask(reader)).scope).toEqual(['read']);
    expect((await rig.ask({ scope: ['read'], ...never })).scope).toEqual(['read']);
    rig.clock.advance(anHour);
    expect((await rig.ask(reader)).scope).toEqual(['read']);
    expect(rig.pages).toHaveLength(1);
  });

  it('W-9: notices and remembers over restarts that a refresh token was narrowed for good, and not by the index alone', async () => {
    const { rig, restarted } = await narrowed();
    const second = await restarted();
    second.clock.advance(anHour);
    expect(await refused(second.ask(never))).toMatchObject({
      message: expect.stringContaining('took admin'),
    });
    expect(await stored(rig)).toMatchObject({ binding: { scope: ['read'], lostScope: ['admin'] } });
    const third = await restarted();
    expect(await refused(third.ask({ scope: ['admin'], ...never }))).toMatchObject({
      message: expect.stringContaining('took admin'),
    });
  });
});

describe('an issuer that was seen to narrow for good', () => {
  it('W-9: asks an issuer that narrowed for good for no narrower token any more: the program gets a refusal, and no other loses a scope', async () => {
    const all = await narrowed();
    const { rig } = all;
    await rig.ask();
    rig.clock.advance(anHour);
    const before = scopesAsked(all).length;
    const error = await refused(rig.ask(reader));
    expect(error).toMatchObject({
      reason: 'scope_insufficient',
      message: expect.stringContaining('for good'),
    });
    expect(error.hint).toContain('keyturn allow');
    expect((await rig.ask(never)).scope).toEqual(['read', 'admin']);
    expect(scopesAsked(all).slice(before)).toEqual([null]);
    await rig.allow('reader', ['read', 'admin']);
    expect((await rig.ask(reader)).scope).toEqual(['read', 'admin']);
  });
});

describe('an issuer that was seen to narrow for good at one of two protected servers', () => {
  it('an issuer that narrowed for good at one protected server takes no scope from the grant of the other, also after a restart', async () => {
    const all = await narrowed();
    const { rig, world, authorizationServer, restarted } = all;
    await refused(rig.ask(never));
    const other = await world.openProtectedServer({ authorizationServers: [authorizationServer] });
    await rig.login({ resource: other.url, scope: ['read', 'admin'] });
    await rig.allow('reader', ['read'], other.url);
    const after = await restarted();
    const before = scopesAsked(all).length;
    const error = await refused(after.ask({ ...reader, resource: other.url }));
    expect(error.message).toContain('for good');
    expect(scopesAsked(all)).toHaveLength(before);
  });
});

describe('a server that narrows the access token alone', () => {
  it('asks a server that narrows only the access token for both scope sets in turn', async () => {
    const all = await ground();
    const { rig } = all;
    await rig.login({ scope: ['read', 'admin'] });
    await rig.allow('reader', ['read']);
    for (let n = 0; n < 2; n += 1) {
      rig.clock.advance(anHour);
      expect((await rig.ask(reader)).scope).toEqual(['read']);
      expect((await rig.ask(never)).scope).toEqual(['read', 'admin']);
    }
    expect(scopesAsked(all)).toEqual(['read', null, 'read', null]);
    expect(rig.grant().lostScope).toBeUndefined();
    expect(await stored(rig)).not.toHaveProperty('narrowedTo');
  });

  it.each([
    ['before any narrower token was asked for', async () => undefined],
    ['after a full one had come back', async ({ rig }: Ground) => void (await rig.ask(never))],
  ])('believes a server that narrows the access token and takes a scope back %s', async (_what, first) => {
    const all = await ground();
    const { rig, authorizationServer } = all;
    await rig.login({ scope: ['read', 'admin'] });
    await rig.allow('reader', ['read']);
    rig.clock.advance(anHour);
    if (_what.startsWith('after')) await rig.ask(reader);
    await first(all);
    const less = ({ form }: RecordedRequest): boolean => form.get('grant_type') === 'refresh_token';
    authorizationServer.bend.tokenAnswer = ({ body }, request) =>
      json(less(request) ? { ...body, scope: 'read' } : body);
    rig.clock.advance(anHour);
    expect((await rig.ask(never)).scope).toEqual(['read']);
    expect(rig.grant()).toMatchObject({ scope: ['read'], state: { kind: 'active' } });
    expect(rig.grant().lostScope).toBeUndefined();
  });
});
