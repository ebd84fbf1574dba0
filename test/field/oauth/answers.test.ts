/** Answers of pages and endpoints that leave something out, or say it in another form. */
import { expect, it } from 'vitest';
import { until } from '../../support/home.ts';
import { rawGet } from '../../support/servers/raw-get.ts';
import { json } from '../../support/bent/server.ts';
import type { Answer } from '../../support/bent/server.ts';
import { callbackOf, ground, refused } from '../../rules/ground.ts';
import type { Ground, GroundOptions } from '../../rules/ground.ts';

it('a sign-in whose only answer had no state says so when its time is over', async () => {
  const { rig, world } = await ground();
  rig.person.isThere = false;
  const login = refused(rig.login({ timeout: 1000 }));
  await until('the page is open', () => rig.pages.length > 0);
  const { origin, pathname } = await callbackOf({ world }, rig.pages[0]);
  await rawGet(`${origin}${pathname}?error=invalid_scope`);
  rig.clock.advance(1000);
  expect(await login).toMatchObject({
    reason: 'login_failed',
    message: expect.stringContaining('"invalid_scope"'),
    hint: expect.stringContaining('--scope'),
  });
});

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
  [
    'an end as a date',
    usual,
    tokenAnswer((body) => json({ ...body, expires_in: undefined, expires_at: date })),
  ],
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
