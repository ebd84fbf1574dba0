/**
 * Another program of the same user writes the index of grants, and the broker starts again.
 *
 * The attacker reads and writes every file of the home. It can't read the vault.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Grant } from '../../src/broker/records/grant.ts';
import { revokeGrant } from '../../src/broker/revocation/revoker.ts';
import { reasonOf } from '../../src/base/errors.ts';
import type { Rig } from '../broker/rig.ts';
import { ground, refused, tokenRequests } from '../rules/ground.ts';

const anHour = 3_600_000;

const indexOf = ({ folder }: Rig): string => path.join(folder, 'grants.jsonl');

/** Appends a line that changes a grant, as the broker itself would write it. */
function forge(rig: Rig, grant: Grant, fields: Partial<Grant>): void {
  const forged = { ...grant, ...fields, generation: grant.generation + 1 };
  appendFileSync(indexOf(rig), `${JSON.stringify({ put: forged })}\n`);
}

/** The grant as the broker holds it after the restart. */
const held = (rig: Rig, { id }: Pick<Grant, 'id'>): Grant | undefined => rig.parts.grants.byId(id);

/** The victim's server, and an evil one at which the attacker made a genuine registration. */
async function victimAndEvil() {
  const all = await ground();
  const evil = await all.world.openAuthorizationServer();
  const trap = await all.world.openProtectedServer({ authorizationServers: [evil] });
  await all.rig.login();
  const victim = all.rig.grant();
  const lure = await all.rig.login({ resource: trap.url });
  evil.server.requests.length = 0;
  return { ...all, evil, trap, victim, lure };
}

/** Grants that the broker mended, as `status` lists them. */
const mended = (rig: Rig): string[] =>
  rig.parts.refresher.secrets.comparison.differences.map(({ grant }) => grant);

describe('a line in the index that names another issuer', () => {
  it('grants.jsonl: sends no refresh token there; the issuer that the vault names is asked', async () => {
    const { rig, evil, victim, lure, authorizationServer, restarted } = await victimAndEvil();
    const { issuer, server, registrationId } = lure;
    forge(rig, victim, { issuer, server, registrationId });
    const before = tokenRequests(authorizationServer, 'refresh_token').length;
    const after = await restarted();
    expect((await after.ask()).issuer).toBe(victim.issuer);
    expect(evil.server.requests).toEqual([]);
    expect(tokenRequests(authorizationServer, 'refresh_token')).toHaveLength(before + 1);
    expect(held(after, victim)).toMatchObject({
      issuer: victim.issuer,
      server: victim.server,
      registrationId: victim.registrationId,
    });
    expect(mended(after)).toEqual([victim.id]);
  });

  it.each(['issuer', 'server', 'registrationId'] as const)(
    'a line in the index that names another issuer only in its %s leads nowhere else',
    async (field) => {
      const { rig, evil, victim, lure, restarted } = await victimAndEvil();
      forge(rig, victim, { [field]: lure[field] });
      const after = await restarted();
      expect((await after.ask()).issuer).toBe(victim.issuer);
      expect(evil.server.requests).toEqual([]);
      expect(held(after, victim)).toMatchObject({ [field]: victim[field] });
    },
  );

  it('sends no refresh token there when the owner revokes; the real issuer is told', async () => {
    const { rig, evil, victim, lure, authorizationServer, restarted } = await victimAndEvil();
    const { issuer, server, registrationId } = lure;
    forge(rig, victim, { issuer, server, registrationId });
    const after = await restarted();
    const named = held(after, victim) ?? victim;
    expect((await revokeGrant(after.parts, named)).receipt).toBe('confirmed');
    expect(evil.server.requests).toEqual([]);
    expect(authorizationServer.server.asked('/revoke', 'POST')).not.toEqual([]);
  });

  it('adopts no token of the victim when somebody signs in at the evil server', async () => {
    const { rig, evil, trap, victim, lure, restarted } = await victimAndEvil();
    const { issuer, server, registrationId, resource, endpoints } = lure;
    // The evil server's own grant disappears, and the victim's takes its place.
    appendFileSync(indexOf(rig), `${JSON.stringify({ remove: lure.id })}\n`);
    forge(rig, victim, { issuer, server, registrationId, resource, endpoints });
    const secret = JSON.parse(await rig.vault.get(`grant.${victim.id}`)) as { refreshToken: string };
    const after = await restarted();
    const signedIn = await after.login({ resource: trap.url });
    expect(signedIn.id).not.toBe(victim.id);
    await revokeGrant(after.parts, signedIn);
    expect(evil.server.holding(secret.refreshToken)).toEqual([]);
    expect(await after.vault.get(`grant.${victim.id}`)).toContain(secret.refreshToken);
  });
});

describe('a line in the index that names another endpoint', () => {
  it('grants.jsonl: hands the token to no program that is allowed that endpoint only', async () => {
    const { rig, restarted } = await ground();
    await rig.login();
    const victim = rig.grant();
    const harmless = 'https://harmless.example/mcp';
    await rig.allow('game', undefined, harmless);
    forge(rig, victim, { endpoints: [...victim.endpoints, harmless] });
    const after = await restarted();
    await refused(after.ask({ clientId: 'game', resource: harmless, interaction: 'never' }));
    expect(held(after, victim)?.endpoints).toEqual(victim.endpoints);
    expect(mended(after)).toEqual([victim.id]);
  });

  it('A-5: gets no token outside the resource, even where vault and index list it', async () => {
    const { rig, restarted } = await ground();
    await rig.login();
    const victim = rig.grant();
    const harmless = 'https://harmless.example/mcp';
    const endpoints = [...victim.endpoints, harmless];
    await rig.allow('game', undefined, harmless);
    const item = JSON.parse(await rig.vault.get(`grant.${victim.id}`)) as { binding: object };
    const listed = { ...item, binding: { ...item.binding, endpoints } };
    await rig.vault.set(`grant.${victim.id}`, JSON.stringify(listed));
    forge(rig, victim, { endpoints });
    const after = await restarted();
    const asked = after.ask({ clientId: 'game', resource: harmless, interaction: 'never' });
    expect(await refused(asked)).toMatchObject({ reason: 'resource_mismatch' });
  });

  it('is forgotten at the next sign-in, too', async () => {
    const { rig, restarted } = await ground();
    await rig.login();
    const victim = rig.grant();
    const inside = `${victim.resource}/inner`;
    forge(rig, victim, {
      endpoints: [...victim.endpoints, inside],
      state: { kind: 'loginRequired', why: 'x' },
    });
    const after = await restarted();
    await after.login();
    expect(held(after, victim)?.endpoints).toEqual(victim.endpoints);
  });
});

describe('a line in the index that changes what a grant is', () => {
  it('gives a program with fewer scopes no wide token', async () => {
    const { rig, authorizationServer, restarted } = await ground();
    await rig.login({ scope: ['read', 'write'] });
    await rig.allow('reader', ['read']);
    forge(rig, rig.grant(), { scope: ['read'] });
    // RFC 6749 §5.1: an answer without a scope grants what was asked for.
    authorizationServer.bend.tokenAnswer = ({ body: { scope: _unsaid, ...body }, ...reply }) => ({
      ...reply,
      body,
    });
    const after = await restarted();
    const given = await after.ask({ clientId: 'reader', interaction: 'never' }).then(
      ({ scope }) => scope,
      (error: unknown) => reasonOf(error),
    );
    const [request] = tokenRequests(authorizationServer, 'refresh_token');
    expect([given, request?.form.get('scope')]).toEqual([['read'], 'read']);
    expect(after.grant().scope).toEqual(['read', 'write']);
  });

  it.each(['of a grant that the vault does not know', 'of another grant there'])(
    'W-9: calls no issuer one that narrows for good: the line %s',
    async (what) => {
      const { rig, world, authorizationServer, restarted } = await ground();
      const reading = await rig.login({ scope: ['read', 'write'] });
      const trap = await world.openProtectedServer({ authorizationServers: [authorizationServer] });
      const other = await rig.login({ resource: trap.url });
      await rig.allow('reader', ['read']);
      forge(rig, what.includes('another') ? other : { ...reading, id: 'f'.repeat(16) }, { lostScope: [] });
      const after = await restarted();
      expect((await after.ask({ clientId: 'reader', interaction: 'never' })).scope).toEqual(['read']);
    },
  );

  it('asks for no wider scope at the next step-up', async () => {
    const { rig, restarted } = await ground();
    await rig.login({ scope: ['read'] });
    forge(rig, rig.grant(), { requestedScope: ['read', 'admin'] });
    const after = await restarted();
    await after.ask({
      challenge: { status: 403, bearer: { error: 'insufficient_scope', scope: ['write'] } },
    });
    expect(new URL(after.pages[0] ?? '').searchParams.get('scope')).not.toContain('admin');
  });

  it.each([
    ['account', { account: 'mallory' }],
    ['resource', { resource: 'https://other.example/mcp' }],
  ] as const)('in its %s is undone before a token is handed out', async (_what, fields) => {
    const { rig, restarted } = await ground();
    await rig.login();
    const victim = rig.grant();
    forge(rig, victim, fields);
    const after = await restarted();
    expect(await after.ask()).toMatchObject({ account: victim.account, resource: victim.resource });
    expect(mended(after)).toEqual([victim.id]);
  });
});

describe('an older line of a grant', () => {
  it('grants.jsonl: revives nothing that the owner revoked', async () => {
    const { rig, authorizationServer, restarted } = await ground();
    await rig.login();
    const active = rig.grant();
    const older = readFileSync(indexOf(rig));
    const heal = authorizationServer.server.on('POST', '/revoke', { status: 503 });
    expect((await revokeGrant(rig.parts, active)).receipt).toBe('pending');
    writeFileSync(indexOf(rig), older);
    authorizationServer.server.requests.length = 0;
    const after = await restarted();
    expect(held(after, active)?.state.kind).toBe('active');
    await refused(after.ask({ interaction: 'never' }));
    expect(tokenRequests(authorizationServer, 'refresh_token')).toEqual([]);
    expect(held(after, active)?.state).toMatchObject({ kind: 'revoked', receipt: 'pending' });
    heal();
    expect((await revokeGrant(after.parts, after.grant())).receipt).toBe('confirmed');
  });

  it('is refused by name where the vault holds nothing of the grant any more', async () => {
    const { rig, restarted, authorizationServer } = await ground();
    await rig.login();
    const active = rig.grant();
    expect((await revokeGrant(rig.parts, active)).receipt).toBe('confirmed');
    forge(rig, active, { generation: 50 });
    authorizationServer.server.requests.length = 0;
    const after = await restarted();
    const error = await refused(after.ask({ interaction: 'never' }));
    expect(error).toMatchObject({ reason: 'vault_unreadable' });
    expect(error.message).toContain(active.id);
    expect(authorizationServer.server.requests).toEqual([]);
  });

  it('an older line of a grant, put back with the whole older index, brings back neither its scopes nor its issuer', async () => {
    const { rig, restarted } = await ground();
    await rig.login({ scope: ['read'] });
    const older = readFileSync(indexOf(rig));
    rig.clock.advance(anHour);
    await rig.login({ scope: ['read', 'write'] });
    const newer = rig.grant();
    writeFileSync(indexOf(rig), older);
    const after = await restarted();
    await after.ask();
    expect(after.grant()).toMatchObject({ scope: newer.scope, requestedScope: newer.requestedScope });
  });
});

describe('a line in the index for a grant that the vault does not know', () => {
  it('asks for none of its scopes at a sign-in', async () => {
    const { rig, restarted } = await ground();
    await rig.login({ scope: ['read'] });
    const real = rig.grant();
    appendFileSync(indexOf(rig), `${JSON.stringify({ remove: real.id })}\n`);
    forge(rig, real, { id: 'f'.repeat(16), scope: [], requestedScope: ['admin'] });
    await rig.vault.delete(`grant.${real.id}`);
    const after = await restarted();
    expect(await refused(after.ask({ scope: ['write'] }))).toMatchObject({ reason: 'vault_unreadable' });
    expect(after.pages).toEqual([]);
  });

  it('gives nothing, and does not hide the real grant', async () => {
    const { rig, restarted } = await ground();
    await rig.login();
    const real = rig.grant();
    forge(rig, real, { id: 'f'.repeat(16), createdAt: real.createdAt + anHour, account: 'mallory' });
    const after = await restarted();
    expect(await after.ask()).toMatchObject({ account: real.account });
    expect(await refused(after.ask({ account: 'mallory', interaction: 'never' }))).toMatchObject({
      reason: 'vault_unreadable',
    });
  });
});
