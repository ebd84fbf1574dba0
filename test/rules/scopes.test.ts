/** Which scopes a sign-in asks for, where servers and permissions name them in odd places. */
import { describe, expect, it } from 'vitest';
import { hour, ground, refused, reject, scopeOf, stepUp, tokenRequests, type Ground } from './ground.ts';

const challenged = (status: 401 | 403, scope?: readonly string[]) => ({
  challenge: { status, bearer: { error: 'insufficient_scope', ...(scope ? { scope: [...scope] } : {}) } },
});

const refusal = { challenge: { status: 401, bearer: { scope: ['files:write'] } } } as const;

it('B-20 S-1: the scope of a challenge wins over scopes_supported if the permission names no scopes', async () => {
  const { rig } = await ground({
    protection: { scopeInChallenge: false, scopesSupported: ['read', 'admin'], scopes: [] },
  });
  expect((await rig.ask(refusal)).scope).toEqual(['files:write']);
  expect(scopeOf(rig.pages[0])).toEqual(['files:write']);
});

describe('a step-up', () => {
  it.each([401, 403] as const)(
    'B-21 N-9 U-1 U-2: asks for the earlier scopes and those needed now after %s',
    async (status) => {
      const { rig } = await ground();
      await rig.login({ scope: ['read', 'list'] });
      const union = ['list', 'read', 'write'];
      expect((await rig.ask(challenged(status, ['write']))).scope.toSorted()).toEqual(union);
      expect(scopeOf(rig.pages[1])?.toSorted()).toEqual(union);
    },
  );

  it('B-22: after three rejected tokens opens its page and gets its token', async () => {
    const { rig } = await ground();
    await rig.login({ scope: ['read'] });
    for (let n = 0; n < 4; n += 1) reject(rig, await rig.ask());
    expect(await refused(rig.ask({ challenge: { status: 401 } }))).toMatchObject({
      reason: 'token_rejected',
    });
    expect((await rig.ask(stepUp('write'))).scope).toContain('write');
    for (let n = 0; n < 4; n += 1) reject(rig, await rig.ask());
    expect((await rig.ask(challenged(401, ['admin']))).scope).toContain('admin');
  });

  it.each([401, 403] as const)(
    'U-2: with the status %s and no scope asks for all of scopes_supported, once',
    async (status) => {
      const { rig, authorizationServer } = await ground({
        protection: { scopesSupported: ['read', 'write', 'admin'] },
      });
      authorizationServer.bend.grantedScopes = (asked) => asked.filter((scope) => scope !== 'admin');
      await rig.login({ scope: ['read'] });
      await rig.ask();
      const token = await rig.ask(challenged(status));
      expect(scopeOf(rig.pages[1])?.toSorted()).toEqual(['admin', 'read', 'write']);
      expect(token.scope.toSorted()).toEqual(['read', 'write']);
      expect((await rig.ask(challenged(status))).accessToken).toBe(token.accessToken);
      expect(rig.pages).toHaveLength(2);
    },
  );

  it('U-2: that names no scope at a server that lists none keeps the token', async () => {
    const { rig } = await ground();
    const token = await rig.ask();
    expect((await rig.ask(challenged(403))).accessToken).toBe(token.accessToken);
    expect(rig.pages).toHaveLength(1);
  });

  it('U-2: that names no scope asks the user before it goes beyond the permission', async () => {
    const { rig } = await ground({ protection: { scopesSupported: ['read', 'write'] } });
    await rig.allow('editor', ['read']);
    await rig.ask();
    const asked = rig.ask(challenged(403));
    const card = await rig.question('allow');
    expect(card.question).toMatchObject({ scope: ['read', 'write'] });
    rig.parts.approvalRequests.answer(card.id, 'approve');
    expect((await asked).scope.toSorted()).toEqual(['read', 'write']);
  });
});

describe('a scope that the server does not know', () => {
  it('B-5 N-9: and leaves out of its sign-in is in no later step-up', async () => {
    const { rig, authorizationServer } = await ground();
    authorizationServer.bend.grantedScopes = (asked) => asked.filter((scope) => scope !== 'wriet');
    await rig.login({ scope: ['openid', 'read'] });
    expect(await refused(rig.ask({ scope: ['wriet'] }))).toMatchObject({ reason: 'scope_insufficient' });
    await rig.ask({ scope: ['write'] });
    expect(scopeOf(rig.pages[2])?.toSorted()).toEqual(['openid', 'read', 'write']);
    expect(await refused(rig.ask({ scope: ['wriet'] }))).toMatchObject({ reason: 'scope_insufficient' });
    expect(rig.pages).toHaveLength(3);
  });

  it('B-5: that the server refuses blocks no other step-up', async () => {
    const { rig, authorizationServer } = await ground();
    authorizationServer.bend.authorizeError = ({ query }) =>
      query.get('scope')?.split(' ').includes('wriet') ? { error: 'invalid_scope' } : undefined;
    await rig.login({ scope: ['read'] });
    expect(await refused(rig.ask({ scope: ['wriet'] }))).toMatchObject({ reason: 'login_failed' });
    expect((await rig.ask({ scope: ['write'] })).scope).toContain('write');
    for (const reason of ['login_failed', 'step_up_exhausted']) {
      expect(await refused(rig.ask({ scope: ['wriet'] }))).toMatchObject({ reason });
    }
    expect(rig.pages).toHaveLength(4);
  });
});

const offline = { scopesSupported: ['read', 'offline_access'], refreshTokens: 'offline_access' } as const;

/** A program whose permission alone names scopes: neither challenge nor metadata do. */
async function narrow(): Promise<Ground> {
  const all = await ground({ authorization: offline, protection: { scopes: [] } });
  await all.rig.allow('editor', ['read']);
  return all;
}

it('N-8: offline_access is no right that a permission has to name: nothing is narrowed for it', async () => {
  const { rig, authorizationServer } = await narrow();
  const token = await rig.ask();
  expect(token.scope).toContain('read');
  rig.clock.advance(hour);
  expect((await rig.ask()).accessToken).not.toBe(token.accessToken);
  expect(tokenRequests(authorizationServer, 'refresh_token').map(({ form }) => form.get('scope'))).toEqual([
    null,
  ]);
});
