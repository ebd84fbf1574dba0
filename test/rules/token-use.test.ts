/** Scopes, step-up, refresh and rejected tokens, as an MCP server and its issuer get them wrong. */
import { describe, expect, it } from 'vitest';
import { reasonOf } from '../../src/base/errors.ts';
import { json, type Answer } from '../support/bent/server.ts';
import { hour, ground, isRefresh, keptItem, refused, reject, stepUp, tokenRequests, use } from './ground.ts';
import type { Ground } from './ground.ts';

const aDay = 24 * hour;

/** An app that does whatever the MCP server says, until it is refused. */
async function obedient(all: Ground, most = 20): Promise<{ rounds: number; reason: string }> {
  let token = await all.rig.ask();
  for (let rounds = 0; rounds < most; rounds += 1) {
    const { status, bearer } = await use(all, token.accessToken);
    if (status === 401) reject(all.rig, token);
    const challenge = { status: status === 403 ? 403 : 401, ...(bearer ? { bearer } : {}) } as const;
    try {
      token = await all.rig.ask({ challenge });
    } catch (error) {
      return { rounds, reason: reasonOf(error) };
    }
  }
  return { rounds: most, reason: 'none' };
}

describe('an MCP server that answers 403 without end', () => {
  it('U-3: with another scope each time gets three more sign-ins, then none', async () => {
    const all = await ground();
    const { rig, protectedServer, authorizationServer } = all;
    let wanted = 0;
    await rig.login({ scope: ['read'] });
    protectedServer.always(() => ({ status: 403, error: 'insufficient_scope', scope: `s${(wanted += 1)}` }));
    expect(await obedient(all)).toEqual({ rounds: 3, reason: 'step_up_exhausted' });
    rig.clock.advance(aDay);
    expect(await refused(rig.ask(stepUp('more')))).toMatchObject({ reason: 'step_up_exhausted' });
    expect(authorizationServer.counts.authorizations).toBe(4);
    protectedServer.always(undefined);
    await rig.login({ scope: ['read'] });
    expect((await rig.ask(stepUp('more'))).scope).toContain('more');
  });

  it('a server that answers 403 for a scope that the token has gets no sign-in at all', async () => {
    const all = await ground();
    const { rig, protectedServer, authorizationServer } = all;
    await rig.login({ scope: ['read'] });
    protectedServer.always({ status: 403, error: 'insufficient_scope', scope: 'read' });
    await obedient(all, 5);
    expect(authorizationServer.counts).toMatchObject({ authorizations: 1, refreshes: 0 });
  });

  it('B-23 U-3: for a scope that is never granted gets one sign-in', async () => {
    const all = await ground();
    const { rig, protectedServer, authorizationServer } = all;
    authorizationServer.bend.grantedScopes = () => ['read'];
    await rig.login({ scope: ['read'] });
    protectedServer.always({ status: 403, error: 'insufficient_scope', scope: 'write' });
    expect(await obedient(all)).toMatchObject({ reason: 'scope_insufficient' });
    expect(await obedient(all)).toMatchObject({ reason: 'scope_insufficient' });
    expect(authorizationServer.counts.authorizations).toBe(2);
  });
});

describe('an MCP server that answers 401 without end', () => {
  it('B-22: gets three fresh tokens, then none for a while or until a sign-in', async () => {
    const all = await ground();
    const { rig, protectedServer, authorizationServer } = all;
    protectedServer.always({ status: 401, error: 'invalid_token', scope: 'read' });
    expect(await obedient(all)).toMatchObject({ reason: 'token_rejected' });
    const { refreshes, authorizations } = authorizationServer.counts;
    expect(refreshes).toBeLessThanOrEqual(3);
    expect(authorizations).toBe(1);
    expect(await refused(rig.ask({ challenge: { status: 401 } }))).toMatchObject({
      reason: 'token_rejected',
    });
    expect(authorizationServer.counts).toMatchObject({ refreshes, authorizations });
    protectedServer.always(undefined);
    await rig.login();
    expect((await use(all, (await rig.ask()).accessToken)).status).toBe(200);
  });

  it('B-22: and gives no refresh tokens gets a bounded number of sign-ins', async () => {
    const all = await ground({ authorization: { refreshTokens: 'never' } });
    all.protectedServer.always({ status: 401, error: 'invalid_token', scope: 'read' });
    expect(await obedient(all)).toMatchObject({ reason: 'token_rejected' });
    expect(all.authorizationServer.counts.authorizations).toBeLessThanOrEqual(4);
  });
});

describe('scopes', () => {
  it.each([
    ['fewer', ['read']],
    ['more', ['read', 'write', 'admin']],
  ])('B-5: are recorded as granted when the server grants %s than asked for', async (_what, granted) => {
    const { rig, authorizationServer } = await ground();
    authorizationServer.bend.grantedScopes = () => granted;
    const token = await rig.ask({ scope: ['read'] });
    expect(token.scope).toEqual(granted);
    expect(rig.signIn().scope).toEqual(granted);
  });

  it('N-9 U-1 U-2: the scopes of a refresh are never wider than the sign-in', async () => {
    const { rig, authorizationServer } = await ground();
    await rig.login({ scope: ['read', 'list'] });
    await rig.allow('reader', ['read']);
    rig.clock.advance(hour);
    expect(await refused(rig.ask({ scope: ['write'], interaction: 'never' }))).toMatchObject({
      reason: 'login_required',
    });
    await rig.ask();
    await rig.ask({ appId: 'reader' });
    const refreshes = tokenRequests(authorizationServer, 'refresh_token');
    expect(refreshes.map(({ form }) => form.get('scope'))).toEqual([null, 'read']);
  });
});

const deadShapes: readonly (readonly [string, Answer])[] = [
  ['400 invalid_grant', json({ error: 'invalid_grant' }, 400)],
  ['401 invalid_request', json({ error: 'invalid_request' }, 401)],
  [
    'invalid_grant as a form',
    { status: 400, headers: formType(), body: 'error=invalid_grant&error_description=x' },
  ],
  ['400 bad_refresh_token', json({ error: 'bad_refresh_token' }, 400)],
  ...[
    'refresh_token is invalid',
    'Invalid or expired refresh token',
    'The refresh token has been revoked',
  ].map((words): [string, Answer] => [
    words,
    json({ error: 'unauthorized_client', error_description: words }, 403),
  ]),
];

function formType(): { readonly 'content-type': string } {
  return { 'content-type': 'application/x-www-form-urlencoded' };
}

it.each(deadShapes)(
  'T-2: a dead refresh token, reported as %s, starts the full flow again',
  async (_what, answer) => {
    const { rig, authorizationServer } = await ground();
    await rig.ask();
    authorizationServer.bend.tokenRequest = (request) => (isRefresh(request) ? answer : undefined);
    rig.clock.advance(hour);
    const kept = await keptItem(rig);
    expect(await refused(rig.ask({ interaction: 'never' }))).toMatchObject({ reason: 'login_required' });
    expect(await keptItem(rig)).toEqual(kept);
    expect(rig.signIn().state).toMatchObject({ kind: 'signInRequired' });
    expect((await rig.ask()).accessToken).toBeTypeOf('string');
    expect(rig.pages).toHaveLength(2);
    expect(tokenRequests(authorizationServer, 'refresh_token')).toHaveLength(1);
  },
);
