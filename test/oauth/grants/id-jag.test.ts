/** Enterprise-managed authorization: from an ID token over an assertion to an access token. */
import { describe, expect, it } from 'vitest';

import { RuleRefusal, Unreachable } from '../../../src/base/errors.ts';
import {
  discoverIdentityProvider,
  redeemIdentityAssertion,
  requestIdentityAssertion,
} from '../../../src/oauth/grants/id-jag.ts';
import { registrationAt, serverAt } from '../parties.ts';
import { everyWordOf, refusalOf } from '../refusal.ts';
import { now, siteOfFile } from '../site.ts';
import type { Page } from '../site.ts';

const resource = 'https://server.example/mcp';
const issuer = 'https://issuer.example';
const profile = 'urn:ietf:params:oauth:grant-profile:id-jag';
const idJag = 'urn:ietf:params:oauth:token-type:id-jag';

const site = await siteOfFile();

/** `now` of the site is steady time; assertions count by the wall clock. */
const later = Math.floor(site.http.wall() / 1000) + 300;

/** Signed by nobody: the client leaves the signature to the server. */
function idJagOf(changes: Record<string, unknown> = {}, typ = 'oauth-id-jag+jwt'): string {
  const claims = {
    iss: site.origin,
    sub: 'alice',
    aud: issuer,
    client_id: 'client-1.a_b',
    resource,
    exp: later,
    ...changes,
  };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'ES256', typ })}.${part(claims)}.ass3rtion`;
}

const good = { access_token: idJagOf(), issued_token_type: idJag, token_type: 'N_A', expires_in: 300 };
const sent = () => Object.fromEntries(new URLSearchParams(site.asked[0]?.body));

function exchange(server = serverAt(issuer), scope: string[] = ['a']) {
  return requestIdentityAssertion(
    {
      identityProvider: { server: serverAt(site.origin), registration: registrationAt(site.origin) },
      idToken: 'id.t0ken.x',
      server,
      clientId: 'client-1.a_b',
      resource,
      scope,
    },
    site.http,
  );
}

describe('the exchange at the identity provider', () => {
  it('P-2: exchanges the ID token for an assertion for this server and resource', async () => {
    site.lay('/token', { body: good });
    expect(await exchange()).toEqual({
      assertion: idJagOf(),
      audience: issuer,
      subject: { issuer: site.origin, subject: 'alice' },
      expiresAt: now + 300_000,
    });
    expect(sent()).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      requested_token_type: idJag,
      subject_token: 'id.t0ken.x',
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
      audience: issuer,
      resource,
      scope: 'a',
      client_id: 'client-1.a_b',
    });
  });

  it('leaves out an empty scope, and accepts n_a in lower case and no lifetime', async () => {
    site.lay('/token', { body: { ...good, token_type: 'n_a', expires_in: undefined } });
    expect(await exchange(serverAt(issuer), [])).toMatchObject({ expiresAt: now + 300_000 });
    expect(sent()).not.toHaveProperty('scope');
  });

  it.each([
    { issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' },
    { issued_token_type: undefined },
    { token_type: 'Bearer' },
    { token_type: null },
    { expires_in: 'soon' },
  ])('P-2: refuses an answer with %j', async (changes) => {
    site.lay('/token', { body: { ...good, ...changes } });
    const refusal = await refusalOf(exchange);
    expect(refusal).toBeInstanceOf(RuleRefusal);
    expect(refusal.reason).toBe('token_invalid');
    expect(everyWordOf(refusal)).not.toMatch(/ass3rtion|t0ken/);
  });

  it.each<[string, string]>([
    ['of another issuer', idJagOf({ iss: 'https://evil.example' })],
    ['for another audience', idJagOf({ aud: 'https://other.example' })],
    ['for a further audience', idJagOf({ aud: [issuer, 'https://other.example'] })],
    ['for another client', idJagOf({ client_id: 'another' })],
    ['for another resource', idJagOf({ resource: 'https://other.example/mcp' })],
    ['for a further resource', idJagOf({ resource: [resource, 'https://other.example/mcp'] })],
    ['for no resource', idJagOf({ resource: undefined })],
    ['of nobody', idJagOf({ sub: '' })],
    ['without an end', idJagOf({ exp: undefined })],
    ['that has expired', idJagOf({ exp: later - 600 })],
    ['of the type of an ID token', idJagOf({}, 'JWT')],
    ['without a signature', idJagOf().replace('.ass3rtion', '.')],
  ])('P-12: refuses an assertion %s', async (_what, assertion) => {
    site.lay('/token', { body: { ...good, access_token: assertion } });
    const refusal = await refusalOf(exchange);
    expect(refusal.reason).toBe('token_invalid');
    expect(everyWordOf(refusal)).not.toMatch(/ass3rtion|t0ken/);
  });

  it.each<[string, Page, string]>([
    ['invalid_grant', { status: 400, body: { error: 'invalid_grant' } }, 'login_failed'],
    ['invalid_target', { status: 400, body: { error: 'invalid_target' } }, 'resource_mismatch'],
    ['invalid_client', { status: 401, body: { error: 'invalid_client' } }, 'client_rejected'],
    ['invalid_scope', { status: 400, body: { error: 'invalid_scope' } }, 'scope_insufficient'],
  ])('gives a reason after %s', async (_what, page, reason) => {
    site.lay('/token', page);
    const refusal = await refusalOf(exchange);
    expect(refusal.reason).toBe(reason);
    expect(everyWordOf(refusal)).not.toContain('t0ken');
  });

  it('the exchange can be tried again if the identity provider is unreachable', async () => {
    site.lay('/token', { status: 503 });
    expect(await refusalOf(exchange)).toBeInstanceOf(Unreachable);
  });

  it('P-4: requests an assertion if the server accepts such assertions, or does not say', async () => {
    site.lay('/token', { body: good });
    await exchange(serverAt(issuer, { grantProfilesSupported: ['x', profile] }));
    await exchange(serverAt(issuer));
    expect(site.asked).toHaveLength(2);
  });

  it('P-4: requests no assertion if the server lists its profiles without this one', async () => {
    for (const grantProfilesSupported of [[], ['x']]) {
      const refusal = await refusalOf(() => exchange(serverAt(issuer, { grantProfilesSupported })));
      expect(refusal.reason).toBe('metadata_invalid');
    }
    expect(site.asked).toEqual([]);
  });
});

describe('the redemption at the authorization server', () => {
  const redeem = (audience = site.origin, registration = registrationAt(site.origin)) =>
    redeemIdentityAssertion(
      {
        server: serverAt(site.origin),
        registration,
        ...(registration.tokenEndpointAuthMethod === 'none' ? {} : { clientSecret: 's3cret' }),
        assertion: {
          assertion: 'ass3rtion',
          audience,
          subject: { issuer: 'https://idp.example', subject: 'alice' },
          expiresAt: now + 1,
        },
        resource,
        scope: ['a'],
      },
      site.http,
    );

  it('P-3: sends the assertion with client and resource', async () => {
    site.lay('/token', { body: { access_token: 'acc3ss', token_type: 'Bearer', refresh_token: 'unw4nted' } });
    const answer = await redeem();
    expect(answer).toMatchObject({
      accessToken: 'acc3ss',
      scope: ['a'],
      subject: { issuer: 'https://idp.example', subject: 'alice' },
    });
    expect(answer).not.toHaveProperty('refreshToken');
    expect(sent()).toEqual({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: 'ass3rtion',
      client_id: 'client-1.a_b',
      resource,
      scope: 'a',
    });
  });

  it('authenticates the client of an assertion by its registered method', async () => {
    site.lay('/token', { body: { access_token: 'acc3ss', token_type: 'Bearer' } });
    await redeem(site.origin, registrationAt(site.origin, { tokenEndpointAuthMethod: 'client_secret_post' }));
    expect(sent()).toMatchObject({ client_id: 'client-1.a_b', client_secret: 's3cret' });
  });

  it('P-3: sends an assertion to no server but the one it was asked for', async () => {
    expect((await refusalOf(() => redeem('https://other.example'))).reason).toBe('issuer_mismatch');
    expect(site.asked).toEqual([]);
  });

  it.each<[string, Page, string]>([
    ['invalid_grant', { status: 400, body: { error: 'invalid_grant' } }, 'login_failed'],
    ['invalid_client', { status: 401, body: { error: 'invalid_client' } }, 'client_rejected'],
    ['another token type', { body: { access_token: 'acc3ss', token_type: 'N_A' } }, 'token_invalid'],
    ['a 500', { status: 500 }, 'authorization_server_unreachable'],
  ])('gives a reason after %s', async (_what, page, reason) => {
    site.lay('/token', page);
    const refusal = await refusalOf(redeem);
    expect(refusal.reason).toBe(reason);
    expect(everyWordOf(refusal)).not.toMatch(/ass3rtion|acc3ss/);
  });
});

describe('the identity provider', () => {
  const location = '/.well-known/openid-configuration';
  const discover = () => discoverIdentityProvider(site.origin, site.http);

  it('discovers an identity provider whose metadata lists no PKCE', async () => {
    site.lay(location, { body: { issuer: site.origin, token_endpoint: `${site.origin}/token` } });
    expect(await discover()).toMatchObject({ issuer: site.origin, tokenEndpoint: `${site.origin}/token` });
  });

  it.each([
    [{ issuer: 'https://evil.example' }, 'issuer_mismatch'],
    [{ issuer: undefined }, 'issuer_mismatch'],
    [{ token_endpoint: null }, 'metadata_invalid'],
    [{ token_endpoint: 'http://server.example/token' }, 'insecure_url'],
  ])('refuses an identity provider with %j in its metadata', async (changes, reason) => {
    site.lay(location, { body: { issuer: site.origin, token_endpoint: `${site.origin}/token`, ...changes } });
    expect((await refusalOf(discover)).reason).toBe(reason);
  });

  it('refuses an identity provider without metadata', async () => {
    expect((await refusalOf(discover)).reason).toBe('metadata_invalid');
  });
});
