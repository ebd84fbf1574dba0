/** Which authorization server of several, and what happens when the MCP server names another one. */
import { describe, expect, it } from 'vitest';
import type { BentAuthorizationServer } from '../support/bent/authorization-server.ts';
import type { BentServer } from '../support/bent/server.ts';
import { enter, followed, ground, parameter, refused, reject, states, type Ground } from './ground.ts';

/** An MCP server that names two, the world's own first. */
async function two(): Promise<Ground & { readonly second: BentAuthorizationServer }> {
  const all = await ground();
  const second = await all.world.openAuthorizationServer();
  all.protectedServer.settings.authorizationServers = [all.authorizationServer, second];
  return { ...all, second };
}

describe('of several authorization servers', () => {
  it.each<[string, (server: BentAuthorizationServer) => unknown]>([
    ['publishes no metadata', ({ settings }) => (settings.metadataAt = [])],
    ['offers no PKCE', (server) => states(server, { code_challenge_methods_supported: undefined })],
    ['has no page to sign in at', (server) => states(server, { authorization_endpoint: undefined })],
    ['can’t be reached', ({ server }) => server.on('*', '*', 'destroy')],
  ])('D-5: passes over one of several authorization servers that %s', async (_what, spoil) => {
    const { rig, authorizationServer, second } = await two();
    spoil(authorizationServer);
    expect((await rig.ask()).issuer).toBe(second.issuer);
    expect(authorizationServer.counts.registrations).toBe(0);
  });

  it('D-5: takes the authorization server that has a registration of ours', async () => {
    const { rig, second } = await two();
    await enter(rig, second);
    expect((await rig.ask()).issuer).toBe(second.issuer);
  });

  it('D-5: reports that the sign-in’s server fails, and does not replace it', async () => {
    const { rig, authorizationServer, second } = await two();
    await rig.login({ issuer: second.issuer });
    second.settings.metadataAt = [];
    expect(await refused(rig.login())).toMatchObject({ reason: 'metadata_invalid' });
    expect(authorizationServer.counts.registrations).toBe(0);
  });

  it('B-31 D-5: takes none that the MCP server does not name', async () => {
    const { rig, world } = await two();
    const third = await world.openAuthorizationServer();
    expect(await refused(rig.login({ issuer: third.issuer }))).toMatchObject({ reason: 'issuer_mismatch' });
    expect(third.server.requests).toEqual([]);
  });
});

describe('more authorization servers than are tried in one search', () => {
  /** The MCP server names this many at one origin, and none of them has metadata. */
  async function many(): Promise<Ground & { readonly stranger: BentServer; readonly names: string[] }> {
    const all = await ground();
    const stranger = await all.world.openServer();
    const names = Array.from({ length: 400 }, (_one, index) => `${stranger.origin}/${index}`);
    states(all.protectedServer, { authorization_servers: names });
    return { ...all, stranger, names };
  }

  it('D-5: tries a bounded number in one search, and the refusal says so', async () => {
    const { rig, stranger } = await many();
    const error = await refused(rig.login());
    expect(error).toMatchObject({ reason: 'metadata_invalid' });
    expect(error.hint).toContain('5 of the 400');
    expect(error.hint).toContain('--issuer');
    // Three locations each.
    expect(stranger.requests).toHaveLength(15);
  });

  it('D-5: reaches one beyond the bound if the user names it or has a sign-in there', async () => {
    const { rig, names, authorizationServer, protectedServer } = await many();
    states(protectedServer, { authorization_servers: [...names, authorizationServer.issuer] });
    expect((await rig.login({ issuer: authorizationServer.issuer })).issuer).toBe(authorizationServer.issuer);
    expect((await rig.login()).issuer).toBe(authorizationServer.issuer);
  });
});

it.each([
  ['says nothing', undefined, 'no-pkce-metadata'],
  ['lists none', [], undefined],
  ['lists only the plain one', ['plain'], undefined],
])(
  'X-2: a server without a page or a word of PKCE gets no device sign-in if it %s',
  async (_what, methods, override) => {
    const { rig, authorizationServer } = await ground({ authorization: { deviceAuthorization: true } });
    states(authorizationServer, {
      authorization_endpoint: undefined,
      code_challenge_methods_supported: methods,
    });
    const error = await refused(rig.login({ method: 'device' }));
    expect(error).toMatchObject({ reason: 'pkce_unsupported' });
    expect(error.hint?.includes('keyturn exception add')).toBe(override !== undefined);
    expect(authorizationServer.counts.registrations).toBe(0);
    expect(authorizationServer.server.asked('/device_authorization', 'POST')).toEqual([]);
  },
);

/** Signed in at the first, and then the MCP server names the second alone. */
async function moved(): Promise<
  Ground & { readonly second: BentAuthorizationServer; readonly tokenId: string }
> {
  const all = await ground();
  const second = await all.world.openAuthorizationServer();
  const { tokenId } = await all.rig.ask();
  all.protectedServer.settings.authorizationServers = [second];
  return { ...all, second, tokenId };
}

describe('an MCP server that names another authorization server', () => {
  it('B-30 N-5: the sign-in after a rejected token names old and new issuer', async () => {
    const { rig, world, authorizationServer, second, tokenId } = await moved();
    reject(rig, { tokenId });
    rig.person.isThere = false;
    const asked = rig.ask();
    const { question } = await rig.question('signIn');
    expect(question).toMatchObject({ issuer: second.issuer, formerIssuer: authorizationServer.issuer });
    await followed(world, rig.pages.at(-1) ?? '');
    // Its sign-in is another one than the program's permission names.
    const card = await rig.question('allow');
    expect(card.question).toMatchObject({ signIn: { issuer: second.issuer, isAboutAccountOnly: true } });
    rig.parts.approvalRequests.answer(card.id, 'approve');
    expect((await asked).issuer).toBe(second.issuer);
  });

  it('B-30 N-5 PROMISE-4: a new issuer gets no client and no token of the old one', async () => {
    const { rig, authorizationServer, second, tokenId } = await moved();
    const old = rig.signIn();
    const before = authorizationServer.counts.refreshes;
    reject(rig, { tokenId });
    const asked = rig.ask();
    rig.parts.approvalRequests.answer((await rig.question('allow')).id, 'approve');
    await asked;
    const clients = [...authorizationServer.clients.keys()];
    const secrets = [
      ...authorizationServer.refreshTokens,
      ...authorizationServer.accessTokens.map((t) => t.token),
    ];
    expect(secrets.length).toBeGreaterThan(1);
    for (const mine of [...clients, ...secrets]) expect(second.server.holding(mine)).toEqual([]);
    expect(second.counts.registrations).toBe(1);
    expect(clients).not.toContain(parameter(rig.pages.at(-1), 'client_id'));
    expect(authorizationServer.counts.refreshes).toBe(before);
    expect(rig.parts.signIns.byId(old.id)?.registrationId).toBe(old.registrationId);
  });

  it('N-5: keeps the old issuer’s sign-in until the user has signed in at the new one', async () => {
    const { rig, tokenId } = await moved();
    const old = rig.signIn();
    reject(rig, { tokenId });
    rig.person.isThere = false;
    const asked = rig.ask();
    const { id } = await rig.question('signIn');
    expect(rig.signIn()).toMatchObject({ id: old.id, issuer: old.issuer, state: { kind: 'signInRequired' } });
    rig.parts.approvalRequests.answer(id, 'deny');
    await refused(asked);
    expect(rig.signIn()).toMatchObject({ id: old.id, hasRefreshToken: true });
    expect(await rig.vault.get(old.item ?? '')).toContain('refreshToken');
  });

  it('A-5 N-5: gets no token of the old issuer, even while the new one fails', async () => {
    const { rig, second, authorizationServer, tokenId } = await moved();
    second.settings.metadataAt = [];
    const before = authorizationServer.counts.refreshes;
    reject(rig, { tokenId });
    expect(await refused(rig.ask())).toMatchObject({ reason: 'metadata_invalid' });
    expect(authorizationServer.counts.refreshes).toBe(before);
  });

  it('N-5: ignores a move to another issuer while the server can’t be asked', async () => {
    const { rig, protectedServer, authorizationServer, tokenId } = await moved();
    protectedServer.always({ status: 503 });
    reject(rig, { tokenId });
    expect((await rig.ask()).issuer).toBe(authorizationServer.issuer);
  });

  it('N-4: a client entered for the old issuer leads to a request for a new one', async () => {
    const { rig, world, protectedServer, authorizationServer } = await ground();
    // Also where the new one would register anybody: the user chose a client, so the user chooses again.
    const second = await world.openAuthorizationServer();
    await enter(rig, authorizationServer);
    const token = await rig.ask();
    protectedServer.settings.authorizationServers = [second];
    reject(rig, token);
    expect(await refused(rig.ask())).toMatchObject({
      reason: 'issuer_mismatch',
      hint: expect.stringContaining(`keyturn oauth-client add ${second.issuer}`),
    });
    expect(second.counts.registrations).toBe(0);
  });
});
