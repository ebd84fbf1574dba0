/** The user's own sign-in at the company's identity provider, which is behind those at several servers. */
import { describe, expect, it } from 'vitest';
import { enter, ground, never, refused, tokenRequests } from './ground.ts';
import { asOwner } from './wire.ts';

const clientSecret = 's3cret-of-the-machine';
const basic = { authMethod: 'client_secret_basic' } as const;

/** Two servers with issuers of their own, which take the word of one provider. Nobody has signed in anywhere. */
async function company() {
  const first = await ground();
  const { rig, world, authorizationServer } = first;
  const provider = await world.openAuthorizationServer({
    issuerPath: '/company',
    subject: 'alice',
    resourceRequired: false,
  });
  // The provider's administrator registered Keyturn, under the name that the other servers know too.
  await enter(rig, provider, {}, { clientIdElsewhere: 'by-hand' });
  const second = await world.openAuthorizationServer();
  const other = await world.openProtectedServer({ authorizationServers: [second] });
  for (const issuer of [provider, authorizationServer, second]) issuer.settings.now = () => rig.clock.wall();
  for (const issuer of [authorizationServer, second]) {
    issuer.settings.identityProviders = [provider];
    const idp = { issuer: provider.issuer };
    await enter(rig, issuer, { grantType: 'id-jag', clientSecret, idp }, basic);
  }
  await rig.allow('editor', undefined, other.url);
  return { ...first, provider, second, other };
}

const signInFirst = (issuer: string) => ({
  reason: 'login_required',
  message: expect.stringContaining(issuer) as string,
  hint: expect.stringContaining(`keyturn login ${issuer}`) as string,
});

describe('the sign-in at the company', () => {
  it('P-13: is one page for two servers, with an ID token and without a resource', async () => {
    const { rig, provider, authorizationServer, second, other } = await company();
    expect(await refused(rig.ask(never))).toMatchObject(signInFirst(provider.issuer));
    const token = await rig.ask();
    expect(token).toMatchObject({ account: 'alice', issuer: authorizationServer.issuer });
    expect((await rig.ask({ ...never, resource: other.url })).issuer).toBe(second.issuer);

    expect(rig.pages).toHaveLength(1);
    const page = new URL(rig.pages[0] ?? '');
    expect(page.origin).toBe(new URL(provider.issuer).origin);
    expect(page.searchParams.get('scope')?.split(' ')).toContain('openid');
    expect(page.searchParams.get('resource')).toBeNull();
    expect(provider.counts.tokenExchanges).toBe(2);
    expect(await asOwner(rig)('signIn.list')).toMatchObject({ signIns: { length: 3 } });
  });

  it('P-13: renews its ID token; its secrets go to the provider only', async () => {
    const { rig, provider, authorizationServer, second, protectedServer } = await company();
    const signedIn = await rig.login({ resource: provider.issuer });
    expect(signedIn).toMatchObject({ resource: provider.issuer, account: 'alice' });
    await rig.ask(never);
    rig.clock.advance(2 * 3_600_000);
    authorizationServer.expireAccessTokens();
    await rig.ask(never);
    expect(rig.pages).toHaveLength(1);
    expect(tokenRequests(provider, 'refresh_token')).toHaveLength(1);
    expect(tokenRequests(provider, 'refresh_token')[0]?.form.has('resource')).toBe(false);

    await rig.parts.audit.flush();
    const idTokens = tokenRequests(provider).flatMap(({ form }) => form.get('subject_token') ?? []);
    expect(new Set(idTokens).size).toBe(2);
    for (const secret of [...idTokens, ...provider.refreshTokens]) {
      for (const { server } of [authorizationServer, second, protectedServer])
        expect(server.holding(secret)).toEqual([]);
      for (const text of rig.texts()) expect(text).not.toContain(secret);
    }
  });

  it('P-13: ends with what depends on it, and only the user starts it again', async () => {
    const { rig, provider, other } = await company();
    await rig.ask();
    await rig.ask({ ...never, resource: other.url });
    const signIns = rig.parts.signIns.all();
    const signIn = signIns.find(({ resource }) => resource === provider.issuer);
    await asOwner(rig)('signIn.revoke', { id: signIn?.id });
    // Tokens in memory are handed out no more, though they have time left.
    expect(await refused(rig.ask(never))).toMatchObject(signInFirst(provider.issuer));
    expect(await refused(rig.ask({ ...never, resource: other.url }))).toMatchObject(
      signInFirst(provider.issuer),
    );
    expect(await refused(rig.ask())).toMatchObject(signInFirst(provider.issuer));
    expect(rig.pages).toHaveLength(1);
    await rig.login({ resource: provider.issuer });
    await rig.ask(never);
    await rig.ask({ ...never, resource: other.url });
    expect(rig.pages).toHaveLength(2);
  });

  it('P-13: as another user gives no app that user’s tokens', async () => {
    const { rig, provider, authorizationServer } = await company();
    await rig.ask();
    provider.settings.subject = 'mallory';
    provider.endGrants();
    rig.clock.advance(2 * 3_600_000);
    authorizationServer.expireAccessTokens();
    const asked = refused(rig.ask());
    const { id, question } = await rig.question('account');
    expect(question).toMatchObject({ account: 'mallory', known: ['alice'] });
    rig.parts.approvalRequests.answer(id, 'deny');
    expect(await asked).toMatchObject({ reason: 'account_mismatch' });
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'login_required' });
  });

  it('P-13: an entry with another identity provider replaces none that sign-ins need', async () => {
    const { rig, world, authorizationServer } = await company();
    await rig.ask();
    const idp = { issuer: (await world.openAuthorizationServer({ issuerPath: '/rival' })).issuer };
    await expect(
      enter(rig, authorizationServer, { grantType: 'id-jag', clientSecret, idp }, basic),
    ).rejects.toMatchObject({ reason: 'conflict' });
  });
});
