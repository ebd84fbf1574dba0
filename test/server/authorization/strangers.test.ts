/** What a client that nobody entered, and a request that nobody expected, get from the authorization server. */
import { describe, expect, it } from 'vitest';
import {
  answerTo,
  authorizationOf,
  editor,
  files,
  notes,
  publicClient,
  redirectUri,
  register,
  registered,
  startServer,
} from './rig.ts';
import type { Asked } from './rig.ts';
import { ofFile } from '../../support/lasting.ts';

/** As long as a shared secret has to be. */
const clientSecret = 'a secret of at least thirty-two characters';

const rig = ofFile(async () =>
  startServer({
    clients: [
      { clientId: editor, name: 'Editor', redirectUris: [redirectUri] },
      { clientId: 'robot', clientSecret, isMachine: true },
      { clientId: 'web', redirectUris: ['https://web.example/callback'] },
    ],
  }),
);

describe('a client that registers itself', () => {
  it.each([
    ['for tokens without a user', { grant_types: ['client_credentials'], response_types: [] }],
    ['for ID tokens in the redirect', { grant_types: ['implicit'], response_types: ['id_token'] }],
  ])('AS-2 AS-19: is refused if it asks %s, though a machine was entered', async (_what, asked) => {
    expect((await register(rig, { redirect_uris: [redirectUri], ...asked })).status).toBe(400);
  });

  it.each([
    ['an ID token', 'id_token'],
    ['an access token', 'token'],
  ])('AS-8: can’t have its errors sent on without a user, by asking for %s', async (_what, response_type) => {
    const uri = 'https://phish.example/callback';
    const client_id = await registered(rig, { redirect_uris: [uri] });
    const asked = { client_id, redirect_uri: uri, response_type };
    const answer = await rig.request(authorizationOf(rig, asked).url);
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
    expect(await answer.text()).toContain('phish.example');
  });

  it('AS-8: a client that the operator entered gets its errors at its redirect URI', async () => {
    const redirect_uri = 'https://web.example/callback';
    const [, location] = await answerTo(rig, { client_id: 'web', redirect_uri, response_type: 'x' });
    expect(location).toContain(`${redirect_uri}?error=unsupported_response_type`);
  });

  it.each(['\u200b\u2800', '\u0303'])(
    'is refused if no character of its client_name is visible: %j',
    async (name) => {
      expect((await register(rig, { ...publicClient, client_name: name })).status).toBe(400);
    },
  );
});

describe('an authorization request', () => {
  const says = async (asked: Asked, more = ''): Promise<readonly unknown[]> => {
    const answer = await rig.request(authorizationOf(rig, asked).url + more);
    const back = new URL(answer.headers.get('location') ?? '', rig.origin);
    const isPage = back.origin === rig.origin && back.pathname.startsWith('/interaction/');
    return [answer.status, isPage ? 'a page' : back.searchParams.get('error')];
  };

  it.each<[string, string, Asked, string]>([
    ['asks for two protected servers', 'invalid_target', {}, `&resource=${encodeURIComponent(files)}`],
    ['wants its answer in a form', 'invalid_request', {}, '&response_mode=form_post'],
    ['names nothing but unknown scopes', 'invalid_scope', { scope: 'constructor' }, ''],
    ['ends itself by a name of ours', 'a page', {}, '&keyturn_ended=invalid_scope&keyturn_unasked=1'],
    ['says what is of OpenID Connect', 'a page', {}, '&nonce=n&max_age=60&id_token_hint=x&acr_values=y'],
    ['escapes plain characters of its resource', 'a page', { resource: 'https://notes.example/%6dcp' }, ''],
    ['names another resource', 'invalid_target', { resource: 'https://notes.example/%2fmcp' }, ''],
  ])('AS-3: that %s leads to: %s', async (_what, outcome, asked, more) => {
    expect(await says(asked, more)).toEqual([303, outcome]);
  });

  it.each<[string, Asked, string]>([
    ['"https://notes.example/other"', { resource: 'https://notes.example/other' }, ''],
    ['missing', { resource: undefined }, ''],
    [`"${notes}", "${files}"`, {}, `&resource=${encodeURIComponent(files)}`],
  ])('AS-3: for a wrong target is told with that and the known ones: %s', async (named, asked, more) => {
    await says(asked, more);
    const problem = `resource is ${named}; known: "${notes}", "${files}"`;
    expect(rig.events.at(-1)).toMatchObject({ kind: 'refused', error: 'invalid_target', problem });
  });

  it('longer than 8 KiB is refused, since what it asks is kept', async () => {
    const answer = await rig.request(`${authorizationOf(rig).url}&more=${'m'.repeat(8 * 1024)}`);
    expect(answer.status).toBe(414);
  });
});

it.each(['/REG', '/token/', '/.WELL-known/openid-configuration'])(
  'AS-19: an address in another spelling leads nowhere: %s',
  async (path) => {
    expect((await rig.request(path, { method: 'POST', body: '{}' })).status).toBe(404);
  },
);
