/**
 * Another program of the same user writes what says where tokens go, and the broker starts again.
 *
 * The attacker reads and writes every file of the home. It can't read the vault.
 */
import { describe, expect, it } from 'vitest';
import { ground, refused } from '../rules/ground.ts';

describe('a forged record of a sign-in', () => {
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
