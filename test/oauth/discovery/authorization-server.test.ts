/** Metadata of authorization servers: where it is looked for, and what makes it unusable. */
import { describe, expect, it } from 'vitest';
import { RuleRefusal } from '../../../src/base/errors.ts';
import {
  authorizationServerLocations,
  discoverAuthorizationServer,
} from '../../../src/oauth/discovery/authorization-server.ts';
import { refusalOf } from '../refusal.ts';
import { metadataOf } from '../token-requests.ts';
import { now, siteOfFile, type Page } from '../site.ts';

const oauthLocation = '/.well-known/oauth-authorization-server';
const oidcLocation = '/.well-known/openid-configuration';

const site = await siteOfFile();

const document = (changes: object = {}) => metadataOf(site.origin, changes);

const discover = (issuer = site.origin) => discoverAuthorizationServer(issuer, site.http);

describe('the locations', () => {
  it.each([
    ['https://a.example', [oauthLocation, oidcLocation]],
    ['https://a.example/', [oauthLocation, oidcLocation]],
    ['https://a.example/t', [`${oauthLocation}/t`, `${oidcLocation}/t`, `/t${oidcLocation}`]],
  ])('M-2 M-3: the metadata locations of %s are the specification’s, in order', (issuer, paths) => {
    const expected = paths.map((path) => `https://a.example${path}`);
    expect(authorizationServerLocations(new URL(issuer))).toEqual(expected);
  });

  it.each<[string, Page]>([
    ['fails', { status: 500 }],
    ['is a web page', { headers: { 'content-type': 'text/html' }, body: '<html>' }],
  ])('a location that %s never counts as absent, and hides no other location', async (_what, page) => {
    site.lay(oauthLocation, page);
    expect((await refusalOf(() => discover())).reason).toBe('authorization_server_unreachable');
    site.lay(oidcLocation, document());
    expect(await discover()).toMatchObject({ issuer: site.origin });
  });
});

describe('a document', () => {
  it('M-7: reads further offers, and until when the document may be kept', async () => {
    site.lay(oauthLocation, {
      ...document({
        device_authorization_endpoint: `${site.origin}/device`,
        grant_types_supported: ['authorization_code'],
        authorization_grant_profiles_supported: ['urn:p'],
      }),
      headers: { 'cache-control': 'max-age=60' },
    });
    expect(await discover()).toMatchObject({
      deviceAuthorizationEndpoint: `${site.origin}/device`,
      grantTypesSupported: ['authorization_code'],
      grantProfilesSupported: ['urn:p'],
      freshUntil: now + 60_000,
    });
  });

  it('W-1: a field that is null counts as absent', async () => {
    const empty = {
      registration_endpoint: null,
      revocation_endpoint: null,
      scopes_supported: null,
      grant_types_supported: null,
      token_endpoint_auth_methods_supported: null,
      authorization_response_iss_parameter_supported: null,
    };
    site.lay(oauthLocation, document(empty));
    const server = await discover();
    expect(server).toMatchObject({ issuer: site.origin, issParameterSupported: false });
    expect(server?.registrationEndpoint).toBeUndefined();
    expect(Object.values(server?.metadata ?? {})).not.toContain(null);
    site.lay(oauthLocation, document({ code_challenge_methods_supported: null }));
    expect((await refusalOf(discover)).reason).toBe('pkce_unsupported');
  });

  it('reads a document with a malformed entry in one of its lists', async () => {
    const odd = {
      scopes_supported: ['a', 7, null, 'b'],
      grant_types_supported: [{}, 'authorization_code'],
      code_challenge_methods_supported: [null, 'S256'],
      token_endpoint_auth_methods_supported: ['none', ['none']],
    };
    site.lay(oauthLocation, document(odd));
    expect(await discover()).toMatchObject({
      scopesSupported: ['a', 'b'],
      grantTypesSupported: ['authorization_code'],
      tokenEndpointAuthMethods: ['none'],
    });
  });

  it('N-3: refuses a document whose issuer differs in a single slash behind a path', async () => {
    for (const [listed, stated] of [
      ['/t', '/t/'],
      ['/t/', '/t'],
      ['', '//'],
      ['', '/?'],
    ]) {
      site.lay(
        listed === '' ? oauthLocation : `${oauthLocation}/t`,
        document({ issuer: site.origin + stated }),
      );
      const refusal = await refusalOf(() => discover(site.origin + listed));
      expect(refusal).toBeInstanceOf(RuleRefusal);
      expect(refusal).toMatchObject({ reason: 'issuer_mismatch', rule: 'RFC 8414 §3.3' });
    }
  });

  it.each([[undefined], [[]], [['plain']], [['s256']]])(
    'X-2: is refused with the PKCE methods %j',
    async (methods) => {
      site.lay(oidcLocation, document({ code_challenge_methods_supported: methods }));
      expect((await refusalOf(() => discover())).reason).toBe('pkce_unsupported');
    },
  );

  it.each([{ token_endpoint: undefined }, { authorization_endpoint: 7 }, { scopes_supported: 7 }])(
    'refuses a document with %j',
    async (changes) => {
      site.lay(oauthLocation, document(changes));
      expect((await refusalOf(() => discover())).reason).toBe('metadata_invalid');
    },
  );
});

it.each([
  ['not a url', 'insecure_url'],
  ['https://server.example/?x', 'metadata_invalid'],
])('refuses the issuer %s', async (issuer, reason) => {
  expect((await refusalOf(() => discover(issuer))).reason).toBe(reason);
});
