/** Servers of the earlier revision: metadata at their own origin, else the default endpoints. */
import { describe, expect, it } from 'vitest';

import { Unreachable } from '../../../src/base/errors.ts';
import { buildAuthorizationRequest } from '../../../src/oauth/grants/authorization.ts';
import {
  authorizationBaseUrl,
  discoverEarlierRevision,
} from '../../../src/oauth/discovery/earlier-revision.ts';
import { refresh } from '../../../src/oauth/grants/token.ts';
import { registrationAt } from '../parties.ts';
import { refusalOf } from '../refusal.ts';
import { now, siteOfFile } from '../site.ts';
import type { Page } from '../site.ts';

const oauthLocation = '/.well-known/oauth-authorization-server';
const oidcLocation = '/.well-known/openid-configuration';
const protocolVersion = { header: 'CTX-Protocol-Version', value: '2025-03-26' };

const site = await siteOfFile();

const discover = () => discoverEarlierRevision(site.origin, { ...site.http, protocolVersion });

const document = (changes: object = {}) => ({
  body: {
    issuer: site.origin,
    authorization_endpoint: `${site.origin}/a`,
    token_endpoint: `${site.origin}/t`,
    code_challenge_methods_supported: ['S256'],
    ...changes,
  },
});

describe('the authorization base URL', () => {
  it.each([
    ['https://server.example/mcp', 'https://server.example'],
    ['https://server.example:8443/a/b?c', 'https://server.example:8443'],
    ['https://server.example', 'https://server.example'],
  ])('E-1: the authorization base URL of %s is %s', (endpoint, base) => {
    expect(authorizationBaseUrl(endpoint)).toBe(base);
  });
});

describe('metadata at the base URL', () => {
  it('E-5 M-4: asks at two locations, and names the version in each request and redirect', async () => {
    site.lay(oidcLocation, { status: 302, headers: { location: '/moved' } });
    site.lay('/moved', document());
    expect(await discover()).toMatchObject({ issuer: site.origin, tokenEndpoint: `${site.origin}/t` });
    expect(site.asked.map(({ path }) => path)).toEqual([oauthLocation, oidcLocation, '/moved']);
    for (const { headers } of site.asked) expect(headers['ctx-protocol-version']).toBe('2025-03-26');
  });

  it('E-5: names no version if none is set', async () => {
    await discoverEarlierRevision(site.origin, site.http);
    expect(site.asked).toHaveLength(2);
    for (const { headers } of site.asked) expect(headers).not.toHaveProperty('ctx-protocol-version');
  });

  it('E-7: accepts the issuer of the base URL with or without one final slash, and records it as stated', async () => {
    for (const issuer of [site.origin, `${site.origin}/`]) {
      site.lay(oauthLocation, document({ issuer }));
      const server = await discover();
      expect(server.issuer).toBe(issuer);
      expect(server).not.toHaveProperty('isDefault');
      expect(server).not.toHaveProperty('discoveredAs');
    }
  });

  it.each(['//', '/mcp', '/?', '#'])(
    'E-7: refuses metadata whose issuer is the base URL with %j at its end',
    async (end) => {
      site.lay(oauthLocation, document({ issuer: site.origin + end }));
      expect((await refusalOf(discover)).reason).toBe('issuer_mismatch');
    },
  );

  it('E-7: refuses metadata at the base URL that states another server as its issuer', async () => {
    site.lay(oauthLocation, document({ issuer: 'https://other.example' }));
    expect((await refusalOf(discover)).reason).toBe('issuer_mismatch');
  });

  it.each([[undefined], [[]], [['plain']]])(
    'E-9: refuses metadata with the PKCE methods %j instead of using the defaults',
    async (methods) => {
      site.lay(oauthLocation, document({ code_challenge_methods_supported: methods }));
      expect((await refusalOf(discover)).reason).toBe('pkce_unsupported');
    },
  );
});

describe('the default endpoints', () => {
  it.each([401, 403, 404])(
    'E-2 M-4: uses the default endpoints if every location answers %i',
    async (status) => {
      site.lay(oauthLocation, { status });
      site.lay(oidcLocation, { status });
      expect(await discover()).toEqual({
        issuer: site.origin,
        authorizationEndpoint: `${site.origin}/authorize`,
        tokenEndpoint: `${site.origin}/token`,
        registrationEndpoint: `${site.origin}/register`,
        issParameterSupported: false,
        clientIdMetadataDocumentSupported: false,
        metadata: {},
        isDefault: true,
        freshUntil: now + 3_600_000,
      });
    },
  );

  it('E-4: with the default endpoints, S256, state and resource are still sent', async () => {
    const server = await discover();
    const request = { server, registration: registrationAt(site.origin), resource: `${site.origin}/mcp` };
    const { url } = await buildAuthorizationRequest(request);
    const { searchParams, pathname } = new URL(url);
    expect(pathname).toBe('/authorize');
    expect(searchParams.get('code_challenge_method')).toBe('S256');
    expect(searchParams.get('resource')).toBe(`${site.origin}/mcp`);
    expect(searchParams.get('state')).toBeTruthy();
  });

  it('E-2: sends a token request to the default token endpoint', async () => {
    const server = await discover();
    site.lay('/token', { body: { access_token: 't', token_type: 'Bearer' } });
    const registration = registrationAt(site.origin);
    const request = { server, registration, refreshToken: 'r', resource: site.origin, grantedScope: [] };
    expect(await refresh(request, site.http)).toMatchObject({ accessToken: 't' });
  });

  it.each<[string, Page]>([
    ['a 500', { status: 500 }],
    ['a 429', { status: 429 }],
    ['a web page', { headers: { 'content-type': 'text/html' }, body: '<html>' }],
    ['broken JSON', { headers: { 'content-type': 'application/json' }, body: '{' }],
    ['an empty 204', { status: 204 }],
    ['a document that is none', { body: [] }],
    ['a redirect to another origin', { status: 302, headers: { location: 'https://other.example/' } }],
  ])('E-3: never uses the default endpoints after %s at any location', async (_what, page) => {
    for (const location of [oauthLocation, oidcLocation]) {
      site.clear();
      site.lay(location, page);
      const refusal = await refusalOf(discover);
      expect(['metadata_invalid', 'authorization_server_unreachable']).toContain(refusal.reason);
    }
  });

  it('E-3: never uses the default endpoints after a time-out', async () => {
    site.lay(oauthLocation, { headers: { 'content-type': 'application/json' }, body: '{', hangs: true });
    const ended = new AbortController();
    const waiting = refusalOf(() =>
      discoverEarlierRevision(site.origin, { ...site.http, deadline: () => ended.signal }),
    );
    ended.abort();
    expect(await waiting).toBeInstanceOf(Unreachable);
  });
});
