/** Answers of pages and endpoints that leave something out, say it in another form, or never come. */
import { describe, expect, it } from 'vitest';
import { until } from '../../support/home.ts';
import { rawGet } from '../../support/servers/raw-get.ts';
import { type Answer, html, json } from '../../support/bent/server.ts';
import {
  callbackOf,
  forgotten,
  ground,
  type Ground,
  type GroundOptions,
  parameter,
  refused,
} from '../../rules/ground.ts';
import { removeRegistered } from '../../../src/daemon/methods/oauth-clients.ts';

it.each([
  ['error=invalid_scope', '"invalid_scope"', '--scope'],
  ['', 'without `state`', 'Tell the operator'],
])('a sign-in whose only answer was "%s" says so when its time is over', async (query, words, hint) => {
  const { rig, world } = await ground();
  rig.person.isThere = false;
  const login = refused(rig.login({ timeout: 1000 }));
  await until('the page is open', () => rig.pages.length > 0);
  const { origin, pathname } = await callbackOf({ world }, rig.pages[0]);
  await rawGet(`${origin}${pathname}?${query}`);
  rig.clock.advance(1000);
  expect(await login).toMatchObject({
    reason: 'login_failed',
    message: expect.stringContaining(words),
    hint: expect.stringContaining(hint),
  });
});

it.each([404, 200])(
  'signs in at an issuer that only the user knows, where all else is a page (%i)',
  async (status) => {
    const { rig, authorizationServer, protectedServer } = await ground({
      protection: { metadataAt: [], metadataUrl: undefined },
    });
    protectedServer.server.on('GET', '*', ({ path }) =>
      path.startsWith('/.well-known') ? html('<h1>Notes</h1>', status) : undefined,
    );
    if (status === 404)
      expect(await refused(rig.login())).toMatchObject({ hint: expect.stringContaining('--issuer ISSUER') });
    await rig.login({ issuer: authorizationServer.issuer });
    expect(await rig.ask({ interaction: 'never' })).toMatchObject({ issuer: authorizationServer.issuer });
    expect((await rig.login()).state).toEqual({ kind: 'active' });
  },
);

type Prepare = (all: Ground) => void;

const tokenAnswer =
  (make: (body: Readonly<Record<string, unknown>>) => Answer): Prepare =>
  ({ authorizationServer }) =>
    void (authorizationServer.bend.tokenAnswer = ({ body }) => make(body));

const metadata =
  (changes: Readonly<Record<string, unknown>>): Prepare =>
  ({ authorizationServer }) =>
    void (authorizationServer.bend.metadata = (document) => ({ ...document, ...changes }));

const usual: GroundOptions = {};
const date = new Date(Date.now() + 600_000).toISOString();
const odd: readonly (readonly [string, GroundOptions, Prepare])[] = [
  ['a negative lifetime', usual, tokenAnswer((body) => json({ ...body, expires_in: -1 }))],
  ['a date as end', usual, tokenAnswer((body) => json({ ...body, expires_in: undefined, expires_at: date }))],
  ['spaces around the type', usual, tokenAnswer((body) => json({ ...body, token_type: ' bearer ' }))],
  [
    'a form that is called text',
    usual,
    tokenAnswer(({ access_token: token }) => ({
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: `access_token=${String(token)}&scope=read&token_type=bearer`,
    })),
  ],
  [
    'an ID token of nobody',
    { authorization: { defaultScope: ['openid', 'read'] }, protection: { scopes: ['openid', 'read'] } },
    ({ authorizationServer }) =>
      void (authorizationServer.bend.idTokenClaims = (claims) => ({ ...claims, sub: '' })),
  ],
  [
    'JSON of its own at a location of the metadata',
    { authorization: { metadataAt: ['oidc'] } },
    ({ authorizationServer: { server } }) =>
      void server.on('GET', '/.well-known/oauth-authorization-server', json({ error: 'not found' })),
  ],
  ['empty endpoints', usual, metadata({ revocation_endpoint: '', device_authorization_endpoint: '' })],
  [
    'the document of its root at a location of its metadata',
    { authorization: { issuerPath: '/tenant', metadataAt: ['oidcAppended'] } },
    ({ authorizationServer: { server } }) =>
      void server.on('GET', '/.well-known/oauth-authorization-server/tenant', json({ issuer: server.base })),
  ],
  [
    'JSON of its own at a location of the resource’s metadata',
    { protection: { metadataAt: ['root'], metadataUrl: undefined } },
    ({ protectedServer: { server } }) =>
      void server.on('GET', '/.well-known/oauth-protected-resource/mcp', json({ message: 'hello' })),
  ],
  [
    'texts for lists',
    usual,
    metadata({ code_challenge_methods_supported: 'plain S256', grant_types_supported: 'a, b' }),
  ],
  [
    'one issuer for a list',
    usual,
    ({ protectedServer, authorizationServer: { issuer } }) =>
      void (protectedServer.bend.metadata = (document) => ({ ...document, authorization_servers: issuer })),
  ],
  [
    'a registration that fails at 127.0.0.1 with 500',
    usual,
    ({ authorizationServer: { server } }) =>
      void server.on('POST', '/register', ({ body }) =>
        body.includes('127.0.0.1') ? { status: 500 } : undefined,
      ),
  ],
];

it.each(odd)('signs in and gives a token in spite of %s', async (_what, options, prepare) => {
  const all = await ground(options);
  prepare(all);
  await all.rig.login();
  const token = await all.rig.ask({ interaction: 'never' });
  expect(token).toMatchObject({ accessToken: expect.stringMatching(/./), account: 'default' });
});

describe('a registration whose page nobody came back from', () => {
  async function givenUp({ rig }: Ground): Promise<void> {
    const login = refused(rig.login({ timeout: 15_000 }));
    const pages = rig.pages.length;
    await until('its page is open', () => rig.pages.length > pages);
    await rig.visited();
    rig.clock.advance(15_000);
    expect(await login).toMatchObject({ reason: 'login_pending' });
  }

  it.each([0, 600_000])('is replaced at the next attempt, %s ms later', async (later) => {
    const all = await forgotten();
    const { rig, authorizationServer } = all;
    await givenUp(all);
    rig.clock.advance(later);
    expect((await rig.login()).state).toEqual({ kind: 'active' });
    expect(authorizationServer.counts.registrations).toBe(2);
    await rig.login();
    expect(parameter(rig.pages.at(-1), 'client_id')).toBe(parameter(rig.pages.at(-2), 'client_id'));
  });

  it('stays in use if the server registers no other', async () => {
    const all = await forgotten();
    const { rig, authorizationServer } = all;
    await givenUp(all);
    rig.clock.advance(600_000);
    await until('the page is over', () => rig.parts.approvalRequests.list().length === 0);
    authorizationServer.bend.registrationAnswer = () => json({ error: 'access_denied' }, 403);
    await givenUp(all);
    expect(parameter(rig.pages.at(-1), 'client_id')).toBe(parameter(rig.pages[0], 'client_id'));
  });

  it('its removal ends the sign-ins that wait with it', async () => {
    const all = await ground();
    const { rig, authorizationServer } = all;
    rig.person.isThere = false;
    const login = refused(rig.login());
    await until('its page is open', () => rig.pages.length > 0);
    const clientId = parameter(rig.pages[0], 'client_id') ?? '';
    await removeRegistered(rig.parts, { issuer: authorizationServer.issuer, clientId });
    expect(await login).toMatchObject({ reason: 'login_failed' });
    expect(rig.parts.approvalRequests.list()).toEqual([]);
  });
});
