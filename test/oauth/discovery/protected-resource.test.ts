/** What an MCP server says about itself, and when it is not believed. */
import { describe, expect, it } from 'vitest';
import {
  discoverProtectedResource,
  protectedResourceLocations,
} from '../../../src/oauth/discovery/protected-resource.ts';
import { refusalOf } from '../refusal.ts';
import { siteOfFile } from '../site.ts';

const pathSpecific = '/.well-known/oauth-protected-resource/mcp';
const site = await siteOfFile();
const endpoint = `${site.origin}/mcp`;

const document = (changes: object = {}) => ({
  body: { resource: endpoint, authorization_servers: ['https://issuer.example'], ...changes },
});

const discover = (resourceMetadata?: string) =>
  discoverProtectedResource(
    endpoint,
    resourceMetadata === undefined ? undefined : { resourceMetadata },
    site.http,
  );

describe('discoverProtectedResource', () => {
  it('D-3: asks at one location for an endpoint without a path', () => {
    expect(protectedResourceLocations('https://server.example/a/b')).toEqual([
      'https://server.example/.well-known/oauth-protected-resource/a/b',
      'https://server.example/.well-known/oauth-protected-resource',
    ]);
    expect(protectedResourceLocations('https://server.example')).toHaveLength(1);
  });

  it('E-3: refuses by name if the challenge names a web page', async () => {
    site.lay(pathSpecific, document());
    site.lay('/named', { headers: { 'content-type': 'text/html' }, body: '<html>' });
    expect(await refusalOf(() => discover(`${site.origin}/named`))).toMatchObject({
      reason: 'metadata_invalid',
      message: expect.stringContaining('/named", but what is there is no JSON'),
    });
  });

  it.each([
    'javascript:alert(1)',
    'http://server.example/m',
    'file:///m',
    '//server.example/m',
    '/\t/x.example/m',
  ])('D-2: refuses a challenge whose metadata is at %s', async (url) => {
    expect((await refusalOf(() => discover(url))).reason).toBe('insecure_url');
  });

  it.each(['/mcp/', '/', '', '/mcp?tenant=1'])(
    'I-3 N-10: keeps a resource that ends in %j unchanged',
    async (end) => {
      const resource = site.origin.replace('https', 'HTTPS') + end;
      site.lay(pathSpecific, document({ resource }));
      expect(await discover()).toMatchObject({ resource });
    },
  );

  it('a field of the metadata that is null counts as absent', async () => {
    site.lay(pathSpecific, document({ resource: null, scopes_supported: null, jwks_uri: null }));
    const found = await discover();
    expect(found).toMatchObject({ resource: endpoint });
    expect(found?.scopesSupported).toBeUndefined();
    site.lay(pathSpecific, document({ authorization_servers: null }));
    expect(await refusalOf(() => discover())).toMatchObject({
      reason: 'metadata_invalid',
      hint: expect.stringMatching(/^resource has to be one URL, and authorization_servers a list/),
    });
  });

  it('reads an identifier of a quarter of a million slashes', async () => {
    site.lay(pathSpecific, document({ resource: `https://server.example${'/'.repeat(250_000)}a` }));
    expect(await refusalOf(() => discover())).toMatchObject({ reason: 'resource_mismatch' });
  });

  it.each([
    [
      { authorization_servers: [7, null, '', 'https://issuer.example'], scopes_supported: ['a', {}, 'b'] },
      ['a', 'b'],
    ],
    [{ resource: [endpoint], scopes_supported: { a: 'Read' } }, undefined],
  ])('reads metadata in spite of what is malformed in %j', async (changes, scopesSupported) => {
    site.lay(pathSpecific, document(changes));
    // A path alone is one of the endpoint's origin.
    expect(await discover(pathSpecific)).toMatchObject({
      resource: endpoint,
      authorizationServers: ['https://issuer.example'],
      scopesSupported,
    });
  });
});
