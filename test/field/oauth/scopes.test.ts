/** Scopes that Keyturn adds or takes from a challenge, at servers that refuse them. */
import { describe, expect, it } from 'vitest';
import { until } from '../../support/home.ts';
import { json, type RecordedRequest } from '../../support/bent/server.ts';
import { ground, parameter, refused, scopeOf, type Ground, type GroundOptions } from '../../rules/ground.ts';

const offline = ['read', 'offline_access'];

/** A server that lists `offline_access`. */
async function listing(options: GroundOptions = {}): Promise<Ground> {
  return ground({ ...options, authorization: { scopesSupported: offline, ...options.authorization } });
}

const asks = ({ query }: RecordedRequest): boolean =>
  (query.get('scope') ?? '').split(' ').includes('offline_access');

describe('offline_access, which this client may not have', () => {
  it.each([
    [{ error: 'invalid_scope' }],
    [{ error: 'access_denied', error_description: 'offline_access is not allowed for this client' }],
  ])('is left out after the page answered %j, and at every later sign-in', async (error) => {
    const { rig, authorizationServer } = await listing();
    authorizationServer.bend.authorizeError = (request) => (asks(request) ? error : undefined);
    await rig.login();
    await rig.login();
    expect(rig.pages.map(scopeOf)).toEqual([offline, ['read'], ['read']]);
    expect(authorizationServer.counts.registrations).toBe(1);
  });

  it('is left out after the token endpoint refused it', async () => {
    const { rig, authorizationServer } = await listing();
    authorizationServer.bend.tokenRequest = () =>
      asks({ query: new URL(rig.pages.at(-1) ?? '').searchParams } as RecordedRequest)
        ? json({ error: 'not_allowed', error_description: 'Offline tokens not allowed for the client' }, 400)
        : undefined;
    await rig.login();
    expect(rig.pages.map(scopeOf)).toEqual([offline, ['read']]);
  });

  it('comes with prompt=consent if the server wants that', async () => {
    const { rig, authorizationServer } = await listing();
    authorizationServer.bend.authorizeError = (request) =>
      asks(request) && request.query.get('prompt') !== 'consent'
        ? { error: 'invalid_scope', error_description: 'offline_access needs prompt=consent' }
        : undefined;
    await rig.login();
    expect(rig.pages.map((page) => parameter(page, 'prompt'))).toEqual([undefined, 'consent']);
    expect(rig.signIn().hasRefreshToken).toBe(true);
  });

  it('is not asked for if the answer to the registration leaves it out', async () => {
    const { rig, authorizationServer } = await listing();
    authorizationServer.bend.registrationAnswer = ({ body }) => json({ ...body, scope: 'read' }, 201);
    await rig.login();
    await rig.login();
    expect(rig.pages.map(scopeOf)).toEqual([['read'], ['read']]);
    expect(authorizationServer.counts.registrations).toBe(1);
  });

  it('a second refusal is shown, and no third page opens', async () => {
    const { rig, authorizationServer } = await listing();
    authorizationServer.bend.authorizeError = () => ({ error: 'invalid_scope' });
    expect(await refused(rig.login())).toMatchObject({ reason: 'login_failed' });
    expect(rig.pages).toHaveLength(2);
  });

  it('is asked for again and again if the user names it', async () => {
    const { rig, authorizationServer } = await listing();
    authorizationServer.bend.authorizeError = () => ({ error: 'invalid_scope' });
    expect(await refused(rig.login({ scope: offline }))).toMatchObject({ reason: 'login_failed' });
    expect(rig.pages).toHaveLength(1);
  });
});

describe('a scope of the challenge that the issuer refuses', () => {
  const known = 'api://app/read';
  const entra = async (): Promise<Ground> => {
    const all = await ground({ protection: { scopes: ['read'], scopesSupported: [known] } });
    all.authorizationServer.bend.authorizeError = ({ query }) =>
      query.get('scope') === known
        ? undefined
        : { error: 'invalid_client', error_description: "asked for scope 'read' that doesn't exist" };
    return all;
  };

  it('the refusal speaks of scopes, and no other client is registered', async () => {
    const { rig, authorizationServer } = await entra();
    expect(await refused(rig.login())).toMatchObject({
      reason: 'login_failed',
      hint: expect.stringContaining('--scope'),
    });
    expect(authorizationServer.counts.registrations).toBe(1);
  });

  it('gives way to exactly the scopes that the user names', async () => {
    const { rig } = await entra();
    await rig.login({ scope: [known] });
    expect(scopeOf(rig.pages.at(-1))).toEqual([known]);
  });

  it('keeps the scopes that the user named at a plain sign-in, and after a restart', async () => {
    const { rig, restarted } = await entra();
    await rig.login({ scope: [known] });
    await rig.login();
    const again = await restarted();
    await again.login();
    expect([...rig.pages, ...again.pages].map(scopeOf)).toEqual([[known], [known], [known]]);
  });

  it('another account doesn’t get them', async () => {
    const { rig } = await ground();
    await rig.login({ scope: ['write'], account: 'one' });
    await rig.login({ account: 'two' });
    expect(rig.pages.map(scopeOf)).toEqual([['write'], ['read']]);
  });

  it('a program’s scopes still come beside those of the challenge', async () => {
    const { rig } = await ground();
    await rig.ask({ scope: ['write'] });
    expect(scopeOf(rig.pages[0])).toEqual(['read', 'write']);
  });
});

it('a code is sent again after the short wait that a token endpoint names', async () => {
  const { rig, authorizationServer } = await ground();
  const busy = { status: 429, headers: { 'retry-after': '2' } };
  let left = 1;
  authorizationServer.bend.tokenRequest = () => (left-- > 0 ? busy : undefined);
  let isOver = false;
  const login = rig.login().finally(() => (isOver = true));
  // Others sleep too, so only the end tells that the wait had begun.
  await until('it is over', () => {
    if (left <= 0) rig.clock.advance(2000);
    return isOver;
  });
  expect((await login).state).toEqual({ kind: 'active' });
  expect(authorizationServer.counts.codesRedeemed).toBe(1);
});
