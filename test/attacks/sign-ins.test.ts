/**
 * Another program of the same user writes what says where tokens go, and the broker starts again.
 *
 * The attacker reads and writes every file of the home. It can't read the vault.
 */
import type { Vault } from '../../src/vault/base/vault.ts';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { revokeGrant } from '../../src/broker/revocation/revoker.ts';
import type { Rig } from '../broker/rig.ts';
import { ground, refused, tokenRequests } from '../rules/ground.ts';

const documentOf = ({ folder }: Rig): string => path.join(folder, 'authority.json');

/** Changes a text of the document, as an editor does. */
function forge(rig: Rig, from: string, to: string): void {
  const text = readFileSync(documentOf(rig), 'utf8');
  expect(text).toContain(from);
  writeFileSync(documentOf(rig), text.replaceAll(from, to));
}

describe('a forged record of a sign-in', () => {
  it.each(['issuer', 'resource', 'endpoint'] as const)(
    'a forged record with another %s sends no token anywhere',
    async (what) => {
      const { rig, world, restarted, authorizationServer } = await ground();
      const evil = await world.openAuthorizationServer();
      await rig.login();
      const { issuer, resource, endpoints } = rig.grant();
      const from = { issuer, resource, endpoint: endpoints[0] ?? '' }[what];
      forge(rig, `"${from}"`, `"${evil.issuer}"`);
      authorizationServer.server.requests.length = 0;
      const after = await restarted();
      expect(await refused(after.ask({ interaction: 'never' }))).toMatchObject({ reason: 'file_unreadable' });
      expect(evil.server.requests).toEqual([]);
      expect(authorizationServer.server.requests).toEqual([]);
    },
  );

  it('A-5: gives no token outside its resource, even if its record lists the endpoint', async () => {
    const { rig, restarted } = await ground();
    await rig.login();
    const harmless = 'https://harmless.example/mcp';
    await rig.allow('game', undefined, harmless);
    const { endpoints } = rig.grant();
    await rig.parts.grants.change(rig.grant(), { endpoints: [...endpoints, harmless] });
    const after = await restarted();
    const asked = after.ask({ appId: 'game', resource: harmless, interaction: 'never' });
    expect(await refused(asked)).toMatchObject({ reason: 'resource_mismatch' });
  });
});

describe('an older document', () => {
  it('authority.json: revives nothing that the owner revoked', async () => {
    const { rig, authorizationServer, restarted } = await ground();
    await rig.login();
    const older = readFileSync(documentOf(rig));
    authorizationServer.server.on('POST', '/revoke', { status: 503 });
    expect((await revokeGrant(rig.parts, rig.grant())).receipt).toBe('pending');
    writeFileSync(documentOf(rig), older);
    authorizationServer.server.requests.length = 0;
    const after = await restarted();
    await refused(after.ask({ interaction: 'never' }));
    expect(tokenRequests(authorizationServer, 'refresh_token')).toEqual([]);
  });

  it('authority.json: with an older number in the vault gives no token once an item is newer', async () => {
    const vaults: Vault[] = [];
    const documentFront = (vault: Vault): Vault => {
      vaults.push(vault);
      return vault;
    };
    const { rig, authorizationServer, restarted } = await ground({ rig: { documentFront } });
    await rig.login();
    const [older, known] = [readFileSync(documentOf(rig)), await vaults[0]?.get('newest')];
    await rig.allow('reader', ['read']);
    rig.clock.advance(3_600_000);
    await rig.ask({ interaction: 'never' });
    writeFileSync(documentOf(rig), older);
    await vaults[0]?.set('newest', known ?? '');
    authorizationServer.server.requests.length = 0;
    const after = await restarted();
    const refusal = await refused(after.ask({ interaction: 'never' }));
    expect(refusal).toMatchObject({ message: expect.stringContaining('is not the newest one') });
    expect(authorizationServer.server.requests).toEqual([]);
  });
});

describe('scopes of a token', () => {
  it('get no program a wide token if the record says fewer than the token has', async () => {
    const { rig, authorizationServer, restarted } = await ground();
    await rig.login({ scope: ['read', 'write'] });
    await rig.allow('reader', ['read']);
    // As a kill leaves it between the item and the document, after a refresh that brought more.
    await rig.parts.grants.change(rig.grant(), { scope: ['read'] });
    // RFC 6749 §5.1: an answer without a scope grants what was asked for.
    authorizationServer.bend.tokenAnswer = ({ body: { scope: _unsaid, ...body }, ...reply }) => ({
      ...reply,
      body,
    });
    const after = await restarted();
    const asked = await after.ask({ appId: 'reader', interaction: 'never' }).then(
      ({ scope }) => scope,
      () => 'refused',
    );
    expect([['read'], 'refused']).toContainEqual(asked);
    expect(after.grant().scope).toEqual(['read', 'write']);
  });
});
