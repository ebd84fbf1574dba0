/**
 * Tokens in the forms that the usual issuers publish: one that passes with its preset, and five beside it that must
 * not. The forms come from the issuers' public documentation; no token here is a real one.
 */
import { describe, expect, it } from 'vitest';
import { jwt } from '../../../src/server/index.ts';
import type { IssuersOption, IssuerTokens, ProtectedServerOptions } from '../../../src/server/index.ts';
import { TrustedIssuers } from '../../../src/server/resource/tokens/trusted-issuers.ts';
import { Issuer, newKey, resource, rig, tokenOf } from '../parties.ts';

const key = await newKey('RS256');

const none = { client_id: undefined, jti: undefined, scope: undefined };
const appId = '11111111-2222-3333-4444-555555555555';
const client = '99999999-8888-7777-6666-555555555555';

type Values = Readonly<Record<string, unknown>>;

interface Published {
  readonly iss: string;
  readonly option: IssuerTokens;
  readonly header: Values;
  readonly claims: Values;
  /** An ID token of the same issuer for the same audience. */
  readonly idToken: Values;
  readonly expected: { readonly clientId: string; readonly scopes: readonly string[] };
}

const scope = 'notes:read';
const entra = {
  header: { typ: 'JWT' },
  idToken: { scp: undefined, azp: undefined, appid: undefined, roles: [scope], nonce: undefined },
  expected: { clientId: client, scopes: [scope] },
};

const published: Readonly<Record<string, Published>> = {
  'Entra ID, version 2': {
    ...entra,
    iss: 'https://login.microsoftonline.com/91/v2.0',
    option: { preset: 'entra', audience: appId },
    claims: { aud: appId, azp: client, azpacr: '0', scp: scope, oid: 'o', tid: '91', uti: 'u', ver: '2.0' },
  },
  'Entra ID, version 1': {
    ...entra,
    iss: 'https://sts.windows.net/91/',
    option: { preset: 'entra', audience: 'api://notes' },
    claims: { aud: 'api://notes', appid: client, appidacr: '0', scp: scope, oid: 'o', tid: '91', ver: '1.0' },
  },
  'Entra ID, an app by itself': {
    ...entra,
    iss: 'https://login.microsoftonline.com/91/v2.0',
    option: { preset: 'entra', audience: appId },
    claims: { aud: appId, azp: client, azpacr: '1', roles: [scope], idtyp: 'app', oid: 'o', ver: '2.0' },
    idToken: { roles: undefined },
  },
  Okta: {
    iss: 'https://dev-1.okta.com/oauth2/default',
    option: { preset: 'okta', audience: 'api://default' },
    header: { typ: undefined },
    claims: { ver: 1, jti: 'AT.x', aud: 'api://default', cid: '0oa1', uid: '00u1', scp: ['openid', scope] },
    idToken: { cid: undefined, scp: undefined, amr: ['pwd'], idp: 'i' },
    expected: { clientId: '0oa1', scopes: ['openid', scope] },
  },
  Auth0: {
    iss: 'https://dev-1.eu.auth0.com/',
    option: { preset: 'auth0' },
    header: { typ: 'JWT' },
    claims: { aud: [resource, 'https://dev-1.eu.auth0.com/userinfo'], azp: 'c1', scope: `openid ${scope}` },
    idToken: { aud: resource, azp: undefined, scope: undefined, sid: 's' },
    expected: { clientId: 'c1', scopes: ['openid', scope] },
  },
  Keycloak: {
    iss: 'https://sso.example/realms/main',
    option: { preset: 'keycloak' },
    header: { typ: 'JWT' },
    claims: { aud: ['account', resource], azp: 'c1', typ: 'Bearer', scope: `profile ${scope}`, nonce: 'n' },
    idToken: { typ: 'ID', aud: resource },
    expected: { clientId: 'c1', scopes: ['profile', scope] },
  },
  Cognito: {
    iss: 'https://cognito-idp.us-east-1.amazonaws.com/us-east-1_x',
    option: { preset: 'cognito', audience: 'c1' },
    header: { typ: undefined },
    claims: { aud: undefined, client_id: 'c1', token_use: 'access', version: 2, scope, origin_jti: 'o' },
    idToken: { aud: 'c1', client_id: undefined, token_use: 'id' },
    expected: { clientId: 'c1', scopes: [scope] },
  },
  Google: {
    iss: 'https://accounts.google.com',
    option: {
      preset: 'google',
      scopes: ({ email }) => (email === 'job@project.iam.gserviceaccount.com' ? [scope] : []),
    },
    header: { typ: 'JWT' },
    claims: { azp: '113', email: 'job@project.iam.gserviceaccount.com', email_verified: true },
    idToken: { at_hash: 'h' },
    expected: { clientId: '113', scopes: [scope] },
  },
  WorkOS: {
    iss: 'https://subdomain.authkit.app',
    option: { preset: 'workos' },
    header: { typ: 'JWT' },
    claims: { sid: 'session_1', org_id: 'org_1', client_id: 'client_1', jti: 'j', scope },
    idToken: { nonce: 'n' },
    expected: { clientId: 'client_1', scopes: [scope] },
  },
};

function trusting(
  iss: string,
  issuers: IssuersOption,
  advertised = iss,
  more: Partial<ProtectedServerOptions> = {},
) {
  const from = new Issuer(key);
  const introspected = { active: true, aud: resource, sub: 'alice', client_id: 'c1', scope };
  from.metadata = {
    issuer: iss,
    jwks_uri: new URL('/keys', iss).href,
    introspection_endpoint: new URL('/introspect', iss).href,
  };
  // A stand-in for the issuer's own address, whatever the path of its metadata.
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const { pathname } = new URL(new Request(input, init).url);
    if (pathname === '/introspect') return Response.json(introspected);
    return pathname === '/keys' ? Response.json({ keys: from.keys }) : Response.json(from.metadata);
  };
  return rig(from, { authorizationServers: [advertised], tokens: jwt({ issuers }), fetch, ...more });
}

describe.each(Object.entries(published))(
  'a token of %s',
  (_name, { iss, option, header, claims, idToken, expected }) => {
    const make = async (changes: Values = {}, by = key) =>
      tokenOf(by, { ...none, iss, ...claims, ...changes }, header);

    it('passes with its preset', async () => {
      const { call, handled } = trusting(iss, { [iss]: option });
      expect((await call(await make())).status).toBe(200);
      expect(handled[0]?.access).toMatchObject({
        issuer: iss,
        subject: 'alice',
        clientId: expected.clientId,
        scopes: expect.arrayContaining([...expected.scopes]) as unknown,
      });
    });

    it.each<[string, string, () => Promise<string>]>([
      ['for another audience', 'not issued for this', () => make({ aud: 'other', client_id: 'other' })],
      ['that is an ID token', 'not an access token', () => make(idToken)],
    ])('is refused if it is one %s', async (_what, problem, bad) => {
      const { call, handled } = trusting(iss, { [iss]: option });
      const answer = await call(await bad());
      expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining(problem)]);
      expect(handled).toEqual([]);
    });
  },
);

describe('without a preset', () => {
  const iss = 'https://login.example';

  it.each<[string, Values, Values]>([
    ['of the type JWT', {}, { typ: 'JWT' }],
    ['without a type', {}, { typ: undefined }],
    ['with scp as a list', { scope: undefined, scp: [scope] }, {}],
    ['without a client, jti and iat', { client_id: undefined, jti: undefined, iat: undefined }, {}],
    ['for the resource with a slash more', { aud: `${resource}/` }, {}],
  ])('takes a token %s', async (_how, changes, header) => {
    const { call, handled } = trusting(iss, {});
    expect((await call(await tokenOf(key, changes, header))).status).toBe(200);
    expect(handled[0]?.access.scopes).toEqual([scope]);
  });

  const unread = ({ permissions }: Values) => (permissions as string[]).map(String);
  const anyHost = (name: string) => (new URL(name).host ? {} : undefined);
  it.each<[string, IssuersOption, Values]>([
    ['whose scopes the author’s function can’t read', { [iss]: { scopes: unread } }, {}],
    [
      'whose issuer is no text',
      (name) => (name.startsWith('https') ? anyHost(name) : undefined),
      { iss: [iss] },
    ],
  ])('rejects a token %s', async (_what, issuers, changes) => {
    const { call } = trusting(iss, issuers);
    expect([401, 403]).toContain((await call(await tokenOf(key, changes))).status);
  });

  it.each([
    ['a preset that is unknown', { [iss]: { preset: 'entre' } }],
    ['a name that is no issuer', { 'login.example': {} }],
    ['an issuer of Auth0 without its slash', { [iss]: 'auth0' }],
  ])('refuses %s when it starts', (_what, issuers) => {
    expect(() => trusting(iss, issuers as IssuersOption)).toThrow(/option .*of jwt/);
  });
});

const tenant = 'https://login.microsoftonline.com/91/v2.0';
const trusted = { preset: 'entra', audience: appId } as const;
it.each<[string, IssuersOption, string]>([
  ['is named by version 2', { [tenant]: trusted }, `api://${appId}`],
  ['is known by version 2', (iss) => (iss.endsWith('/v2.0') ? trusted : undefined), appId],
])('a token of Entra ID’s version 1 passes if its tenant %s', async (_how, issuers, aud) => {
  const iss = 'https://sts.windows.net/91/';
  const made = { ...none, iss, aud, appid: client, scp: scope };
  const { call } = trusting(iss, issuers, tenant);
  expect((await call(await tokenOf(key, made, { typ: 'JWT' }))).status).toBe(200);
  const other = trusting(iss, {}, tenant);
  expect((await other.call(await tokenOf(key, made, { typ: 'JWT' }))).status).toBe(401);
});

describe('many tenants', () => {
  const tenants: IssuersOption = (issuer) =>
    /^https:\/\/login\.example\/[0-9a-f]{8}\/v2\.0$/.test(issuer)
      ? { preset: 'entra', audience: appId }
      : undefined;
  const common = 'https://login.example/organizations/v2.0';
  const of = (iss: string) =>
    tokenOf(key, { ...none, iss, aud: appId, azp: client, scp: scope }, { typ: 'JWT' });

  it('are trusted if the function answers for them, each by its own keys', async () => {
    const iss = 'https://login.example/0123abcd/v2.0';
    const { call } = trusting(iss, tenants, common);
    expect((await call(await of(iss))).status).toBe(200);
    // The metadata of the other names the first, so its keys are nobody's.
    expect((await call(await of('https://login.example/89abcdef/v2.0'))).status).toBe(503);
    for (const other of [
      'https://evil.example/0123abcd/v2.0',
      `${iss}/`,
      'http://login.example/0123abcd/v2.0',
    ]) {
      expect(await (await call(await of(other))).text()).toContain('another issuer');
    }
  });

  it('that don’t exist cost a bounded number of requests, and stop no known one', async () => {
    const iss = 'https://login.example/0123abcd/v2.0';
    const { call, pass } = trusting(iss, tenants, common);
    const good = await of(iss);
    await call(good);
    const answers = [];
    for (let n = 0; n < 70; n += 1) {
      answers.push(await call(await of(`https://login.example/${n.toString(16).padStart(8, '0')}/v2.0`)));
    }
    expect(answers.at(-1)?.headers.get('retry-after')).toBe('1');
    expect((await call(good)).status).toBe(200);
    pass(60);
    expect((await call(await of('https://login.example/ffffffff/v2.0'))).status).toBe(503);
  });

  it('that strangers name drive out none of which a token was signed', () => {
    let time = 0;
    const http = { fetch, now: () => time, wall: () => time, allowInsecureLoopback: false };
    const issuers = new TrustedIssuers(
      { issuers: () => ({}), keyOutageSeconds: 3600 },
      { resource, issuers: [], http, onOutage: () => undefined },
    );
    const good = issuers.get('https://good.example');
    issuers.keep(good);
    for (let n = 0; n < 1200; n += 1) {
      time += 1000;
      issuers.get(`https://x${n}.example`);
    }
    expect(issuers.get('https://good.example')).toBe(good);
  });
});
