/** What an owner may waive for one server: off unless set, and never more than it says. */
import { describe, expect, it } from 'vitest';

import { discoverAuthorizationServer } from '../../../src/oauth/discovery/authorization-server.ts';
import {
  buildAuthorizationRequest,
  processAuthorizationResponse,
} from '../../../src/oauth/grants/authorization.ts';
import { discoverEarlierRevision } from '../../../src/oauth/discovery/earlier-revision.ts';
import type { Overrides } from '../../../src/oauth/base/overrides.ts';
import { exchangeCode, refresh } from '../../../src/oauth/grants/token.ts';
import { registrationAt, serverAt } from '../parties.ts';
import { refusalOf } from '../refusal.ts';
import { metadataOf, resource, tokenRequests } from '../token-requests.ts';
import { siteOfFile } from '../site.ts';

const location = '/.well-known/oauth-authorization-server';

const site = await siteOfFile();

const { refreshed } = tokenRequests(site);
const lay = (changes: object) => site.lay(location, metadataOf(site.origin, changes));
const discover = (overrides: Overrides) => discoverAuthorizationServer(site.origin, site.http, overrides);

describe('issuer-mismatch', () => {
  const own = 'https://own.example';

  it('O-1: issuer-mismatch lets the issuer that the document states count, for iss too', async () => {
    lay({ issuer: own, authorization_response_iss_parameter_supported: true });
    const server = await discover({ issuerMismatch: true });
    expect(server).toMatchObject({ issuer: own, discoveredAs: site.origin });
    if (server === undefined) return;
    const registration = registrationAt(own);
    const { started } = await buildAuthorizationRequest({ server, registration, resource });
    const answer = (iss: string) =>
      processAuthorizationResponse(
        started,
        server,
        new URL(`http://127.0.0.1/?code=c&state=${started.state}&iss=${iss}`),
      );
    expect(answer(own)).toEqual({ code: 'c' });
    expect((await refusalOf(() => answer(site.origin))).reason).toBe('issuer_mismatch');
  });

  it('O-1: issuer-mismatch also counts for the earlier revision', async () => {
    lay({ issuer: own });
    const server = await discoverEarlierRevision(site.origin, site.http, { issuerMismatch: true });
    expect(server).toMatchObject({ issuer: own, discoveredAs: site.origin });
  });

  it('O-1: issuer-mismatch accepts neither a document without an issuer nor an issuer that is no https URL', async () => {
    lay({ issuer: undefined });
    expect((await refusalOf(() => discover({ issuerMismatch: true }))).reason).toBe('issuer_mismatch');
    for (const issuer of ['javascript:alert(1)', 'http://own.example', 'own', '']) {
      lay({ issuer });
      const refusal = await refusalOf(() => discover({ issuerMismatch: true }));
      expect(['insecure_url', 'metadata_invalid']).toContain(refusal.reason);
    }
  });

  it('O-1: issuer-mismatch is off by default, and no other override replaces it', async () => {
    lay({ issuer: own });
    for (const overrides of [{}, { issuerMismatch: false }, { noResource: true, noPkceMetadata: true }]) {
      expect((await refusalOf(() => discover(overrides))).reason).toBe('issuer_mismatch');
    }
  });
});

describe('no-pkce-metadata', () => {
  it('O-3: no-pkce-metadata accepts metadata that does not mention PKCE, and S256 is still sent', async () => {
    lay({ code_challenge_methods_supported: undefined });
    const server = await discover({ noPkceMetadata: true });
    expect(server).toMatchObject({ issuer: site.origin });
    if (server === undefined) return;
    const request = { server, registration: registrationAt(site.origin), resource };
    const { searchParams } = new URL((await buildAuthorizationRequest(request)).url);
    expect(searchParams.get('code_challenge_method')).toBe('S256');
    expect(searchParams.get('code_challenge')).toMatch(/^[\w-]{43}$/);
  });

  it.each([[], ['plain']])('O-3: refuses a list without S256: %j', async (...methods) => {
    lay({ code_challenge_methods_supported: methods });
    expect((await refusalOf(() => discover({ noPkceMetadata: true }))).reason).toBe('pkce_unsupported');
  });

  it('O-3 X-2: no-pkce-metadata is off by default, and no other override replaces it', async () => {
    lay({ code_challenge_methods_supported: undefined });
    for (const overrides of [{}, { noPkceMetadata: false }, { issuerMismatch: true, noResource: true }]) {
      expect((await refusalOf(() => discover(overrides))).reason).toBe('pkce_unsupported');
    }
  });
});

describe('no-resource', () => {
  const sent = (index: number) => new URLSearchParams(site.asked[index]?.body);

  async function signInAndRefresh(overrides?: Overrides) {
    const server = serverAt(site.origin);
    const registration = registrationAt(site.origin);
    const waived = overrides === undefined ? {} : { overrides };
    const { url, started } = await buildAuthorizationRequest({ server, registration, resource, ...waived });
    site.lay('/token', { body: { access_token: 't', token_type: 'Bearer' } });
    const callback = new URL(`http://127.0.0.1/?code=c&state=${started.state}`);
    await exchangeCode({ started, server, registration, callbackUrl: callback }, site.http);
    const request = { server, registration, refreshToken: 'r', resource, grantedScope: [], ...waived };
    await refresh(request, site.http);
    return [new URL(url).searchParams, sent(0), sent(1)];
  }

  it('O-2: no-resource leaves the parameter out of the authorization, token and refresh requests', async () => {
    for (const parameters of await signInAndRefresh({ noResource: true })) {
      expect(parameters.has('resource')).toBe(false);
    }
  });

  it('I-1 O-2: no-resource is off by default, and no other override replaces it', async () => {
    const others = { issuerMismatch: true, noPkceMetadata: true };
    for (const overrides of [undefined, {}, { noResource: false }, others]) {
      site.clear();
      const requests = await signInAndRefresh(overrides);
      expect(requests.map((parameters) => parameters.getAll('resource'))).toEqual([
        [resource],
        [resource],
        [resource],
      ]);
    }
  });

  it('O-2 O-4: no-resource still refuses a token that names another audience', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = `${part({ alg: 'RS256' })}.${part({ aud: 'https://other.example' })}.c2ln`;
    site.lay('/token', { body: { access_token: token, token_type: 'Bearer' } });
    const refusal = await refusalOf(() => refreshed({ overrides: { noResource: true } }));
    expect(refusal.reason).toBe('audience_mismatch');
    expect(refusal.hint).toContain('The exception no-resource left out');
    expect(refusal.hint).toContain(`keyturn exception remove ${resource} no-resource`);
    const overrides = { noResource: true, otherAudience: true };
    expect(await refreshed({ overrides })).toMatchObject({ accessToken: token, audience: 'other' });
  });
});
