/** An index of grants that is gone, and one that a crash left behind. */
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Grant } from '../../src/broker/records/grant.ts';
import { revokeGrant } from '../../src/broker/revocation/revoker.ts';
import type { Rig } from '../broker/rig.ts';
import { ground, refused } from '../rules/ground.ts';

const indexOf = ({ folder }: Rig): string => path.join(folder, 'grants.jsonl');

function append(rig: Rig, entry: object): void {
  appendFileSync(indexOf(rig), `${JSON.stringify(entry)}\n`);
}

const told = (rig: Rig): string[] =>
  rig.parts.refresher.secrets.comparison.differences.map(({ what }) => what);

const itemOf = async (rig: Rig, { id }: Grant): Promise<Record<string, unknown>> =>
  JSON.parse(await rig.vault.get(`grant.${id}`)) as Record<string, unknown>;

describe('an item without a binding', () => {
  it('gives nothing, and is kept', async () => {
    const { rig, restarted } = await ground();
    await rig.login();
    const { binding: _known, ...item } = await itemOf(rig, rig.grant());
    await rig.vault.set(`grant.${rig.grant().id}`, JSON.stringify(item));
    const after = await restarted();
    expect(await refused(after.ask({ interaction: 'never' }))).toMatchObject({ reason: 'vault_unreadable' });
    expect(await itemOf(after, rig.grant())).toEqual(item);
  });
});

describe('an index that was deleted', () => {
  it('grants.jsonl: comes back from the vault, and status says so', async () => {
    const { rig, restarted } = await ground();
    await rig.login({ scope: ['read'] });
    const { createdAt, endpoints, resource, scope, id } = rig.grant();
    rmSync(indexOf(rig));
    const after = await restarted();
    expect(after.grant()).toMatchObject({
      id,
      createdAt,
      endpoints,
      resource,
      scope,
      state: { kind: 'active' },
    });
    expect(told(after)).toEqual(['The index had lost it. It was put back from the vault.']);
    await after.ask({ interaction: 'never' });
  });

  it('revives nothing that was revoked and whose server was told', async () => {
    const { rig, restarted } = await ground();
    await rig.login();
    await revokeGrant(rig.parts, rig.grant());
    rmSync(indexOf(rig));
    const after = await restarted();
    expect(after.parts.grants.all()).toEqual([]);
    await refused(after.ask({ interaction: 'never' }));
  });

  it('comes back as ended where its server could not be told', async () => {
    const { rig, restarted, authorizationServer } = await ground();
    await rig.login();
    const heal = authorizationServer.server.on('POST', '/revoke', { status: 503 });
    await revokeGrant(rig.parts, rig.grant());
    rmSync(indexOf(rig));
    const after = await restarted();
    expect(after.grant().state).toMatchObject({ kind: 'revoked', receipt: 'pending' });
    heal();
    expect((await revokeGrant(after.parts, after.grant())).receipt).toBe('confirmed');
  });

  it('an index from which one line was removed comes back whole', async () => {
    const { rig, restarted } = await ground();
    await rig.login();
    append(rig, { remove: rig.grant().id });
    expect((await restarted()).grant().id).toBe(rig.grant().id);
  });
});

describe('a line that says revoked', () => {
  it('narrows, and its real server is told, whatever receipt it claims', async () => {
    const { rig, restarted, authorizationServer } = await ground();
    await rig.login();
    const grant = rig.grant();
    const state = { kind: 'revoked', receipt: 'confirmed', endedAt: grant.createdAt };
    append(rig, { put: { ...grant, state, generation: grant.generation + 1 } });
    const after = await restarted();
    await refused(after.ask({ interaction: 'never' }));
    expect(after.grant().state).toMatchObject({ kind: 'revoked', receipt: 'pending' });
    await revokeGrant(after.parts, after.grant());
    expect(authorizationServer.server.asked('/revoke', 'POST')).not.toEqual([]);
  });

  it('holds where the vault was locked at the revocation, once the vault has heard of it', async () => {
    const { rig, restarted, authorizationServer } = await ground();
    await rig.login();
    const before = readFileSync(indexOf(rig));
    rig.vault.failing.add('get').add('set');
    expect((await revokeGrant(rig.parts, rig.grant())).receipt).toBe('pending');
    rig.vault.failing.clear();
    authorizationServer.server.on('POST', '/revoke', { status: 503 });
    const unlocked = await restarted();
    await revokeGrant(unlocked.parts, unlocked.grant());
    writeFileSync(indexOf(rig), before);
    const after = await restarted();
    await refused(after.ask({ interaction: 'never' }));
    expect(after.grant().state.kind).toBe('revoked');
  });

  it('stays where an older line lay under it when the owner revoked', async () => {
    const { rig, restarted } = await ground();
    await rig.login();
    const older = readFileSync(indexOf(rig));
    await rig.login();
    await rig.login();
    writeFileSync(indexOf(rig), older);
    const behind = await restarted();
    behind.vault.failing.add('get').add('set');
    behind.clock.advance(1000);
    await revokeGrant(behind.parts, behind.grant());
    behind.vault.failing.clear();
    const after = await restarted();
    await refused(after.ask({ interaction: 'never' }));
    expect(after.grant().state.kind).toBe('revoked');
  });
});

describe('a crash between the vault and the index', () => {
  it('a crash between the vault and the index after a sign-in costs no grant: the tokens are used, and what the sign-in changed counts', async () => {
    const { rig, restarted } = await ground();
    await rig.login({ scope: ['read'] });
    const before = readFileSync(indexOf(rig));
    await rig.login({ scope: ['read', 'write'] });
    const { scope, requestedScope } = rig.grant();
    writeFileSync(indexOf(rig), before);
    const after = await restarted();
    expect(await after.ask({ interaction: 'never' })).toMatchObject({ scope });
    expect(after.grant()).toMatchObject({ scope, requestedScope, state: { kind: 'active' } });
  });

  it('a crash between the vault and the index in a first sign-in leaves a grant that works', async () => {
    const { rig, restarted } = await ground();
    await rig.login();
    const [header = '', draft = ''] = readFileSync(indexOf(rig), 'utf8').split('\n');
    writeFileSync(indexOf(rig), `${header}\n${draft}\n`);
    expect(JSON.parse(draft)).toMatchObject({ put: { state: { kind: 'loginRequired' } } });
    const after = await restarted();
    await after.ask({ interaction: 'never' });
    expect(after.grant().state).toEqual({ kind: 'active' });
  });

  it('a crash between the vault and the index in a sign-in after a revocation leaves the new sign-in', async () => {
    const { rig, restarted } = await ground();
    await rig.login();
    await revokeGrant(rig.parts, rig.grant());
    const ended = readFileSync(indexOf(rig));
    rig.clock.advance(60_000);
    await rig.login();
    writeFileSync(indexOf(rig), ended);
    const after = await restarted();
    await after.ask({ interaction: 'never' });
    expect(after.grant().state).toEqual({ kind: 'active' });
  });

  it('a crash between the vault and the index before the vault has the first tokens leaves nothing that looks usable', async () => {
    const { rig, restarted } = await ground();
    rig.vault.failing.add('set');
    await refused(rig.login()).catch(() => undefined);
    rig.vault.failing.clear();
    const after = await restarted();
    expect(after.parts.grants.all().filter(({ state }) => state.kind === 'active')).toEqual([]);
    await after.login();
    await after.ask({ interaction: 'never' });
  });

  it('a crash between the vault and the index in a revocation leaves it ended, whichever of the two has it', async () => {
    const { rig, restarted, authorizationServer } = await ground();
    await rig.login();
    const before = readFileSync(indexOf(rig));
    const item = await rig.vault.get(`grant.${rig.grant().id}`);
    authorizationServer.server.on('POST', '/revoke', { status: 503 });
    await revokeGrant(rig.parts, rig.grant());
    const ended = readFileSync(indexOf(rig));
    const marked = await rig.vault.get(`grant.${rig.grant().id}`);
    for (const [index, secret] of [
      [before, marked],
      [ended, item],
    ] as const) {
      writeFileSync(indexOf(rig), index);
      await rig.vault.set(`grant.${rig.grant().id}`, secret);
      const after = await restarted();
      await refused(after.ask({ interaction: 'never' }));
      expect(after.grant().state).toMatchObject({ kind: 'revoked', receipt: 'pending' });
    }
  });

  it('a crash between the vault and the index in a refresh that changed the scopes leaves those that the server granted', async () => {
    const { rig, restarted, authorizationServer } = await ground();
    await rig.login({ scope: ['read', 'write'] });
    const again = await restarted();
    const before = readFileSync(indexOf(rig));
    authorizationServer.bend.tokenAnswer = ({ body, ...reply }) => ({
      ...reply,
      body: { ...body, scope: 'read' },
    });
    await again.ask();
    expect(again.grant().scope).toEqual(['read']);
    writeFileSync(indexOf(rig), before);
    const after = await restarted();
    await after.ask({ interaction: 'never' });
    expect(after.grant().scope).toEqual(['read']);
  });
});
