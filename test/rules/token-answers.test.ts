/** What a token endpoint may answer, and what makes an answer unusable. */
import { describe, expect, it } from 'vitest';
import { explainSignIn } from '../../src/broker/explain.ts';
import type { Rig } from '../broker/rig.ts';
import { json } from '../support/bent/server.ts';
import { ground, refused, words } from './ground.ts';
import { asOwner } from './wire.ts';

/** The answer of the token endpoint with these fields; undefined leaves one out. */
async function answering(fields: Readonly<Record<string, unknown>>) {
  const all = await ground();
  all.authorizationServer.bend.tokenAnswer = ({ body }) => json({ ...body, ...fields });
  return all;
}

describe('a token answer', () => {
  it.each([
    ['of another type', { token_type: 'mac' }, 'token_invalid'],
    ['that wants a key we don’t have', { token_type: 'DPoP' }, 'token_invalid'],
    ['whose scopes would make every list unreadable', { scope: 's'.repeat(4097) }, 'token_invalid'],
  ])('A-3 A-4 P-5: %s is refused, and nothing of it is kept', async (_what, fields, reason) => {
    const { rig, authorizationServer } = await answering(fields);
    const error = await refused(rig.ask());
    expect(error.reason).toBe(reason);
    expect(rig.parts.signIns.all()).toEqual([]);
    expect(rig.vault.done.filter((call) => call.startsWith('set s-'))).toEqual([]);
    for (const { token } of authorizationServer.accessTokens) expect(words(error)).not.toContain(token);
  });

  it('W-4: with commas between its scopes grants several', async () => {
    const { rig, authorizationServer } = await ground({ authorization: { scopeSeparator: ',' } });
    await rig.allow('editor', ['mcp:read', 'mcp:write']);
    expect((await rig.ask({ scope: ['mcp:read', 'mcp:write'] })).scope).toEqual(['mcp:read', 'mcp:write']);
    expect(rig.signIn().scope).toEqual(['mcp:read', 'mcp:write']);
    await rig.allow('reader', ['mcp:read']);
    const reader = { appId: 'reader', interaction: 'never' } as const;
    expect((await rig.ask(reader)).scope).toEqual(['mcp:read']);
    rig.clock.advance(3_600_000);
    expect((await rig.ask()).scope).toEqual(['mcp:read', 'mcp:write']);
    expect(authorizationServer.counts.refreshes).toBe(2);
    expect(rig.pages).toHaveLength(1);
  });

  it.each([
    ['the authorization server', (issuer: string) => issuer],
    ['a urn', () => ['urn:example:api']],
  ])('A-5: for the audience of %s is taken, and shown as bound to no server', async (_what, audience) => {
    const { rig, authorizationServer, restarted } = await ground({
      authorization: { accessTokenFormat: 'jwt' },
    });
    await rig.ask();
    const shown = async (one: Rig): Promise<unknown> =>
      ((await asOwner(one)('signIn.list')) as { signIns: unknown[] }).signIns[0];
    expect(await shown(rig)).toMatchObject({ audience: 'resource' });
    const aud = audience(authorizationServer.issuer);
    authorizationServer.bend.accessTokenClaims = (claims) => ({ ...claims, aud });
    rig.clock.advance(3_600_000);
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
    expect(authorizationServer.counts.refreshes).toBe(1);
    expect(await shown(await restarted())).toMatchObject({ audience: 'unbound' });
    expect(explainSignIn(rig.parts, rig.signIn()).audience).toContain('names no server');
  });

  it('T-4: for another audience is not handed out, and keeps its refresh token', async () => {
    const { rig, authorizationServer } = await ground({ authorization: { accessTokenFormat: 'jwt' } });
    await rig.ask();
    authorizationServer.bend.accessTokenClaims = (claims) => ({ ...claims, aud: 'https://other.example' });
    rig.clock.advance(3_600_000);
    expect(await refused(rig.ask())).toMatchObject({ reason: 'audience_mismatch' });
    authorizationServer.bend.accessTokenClaims = undefined;
    rig.clock.advance(1000);
    expect((await rig.ask({ interaction: 'never' })).accessToken).toBeTypeOf('string');
    expect(authorizationServer.counts).toMatchObject({ refreshReuses: 0, refreshes: 2 });
  });
});
