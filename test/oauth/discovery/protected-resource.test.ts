/** What a protected server says about itself, and when it is not believed. */
import { describe, expect, it } from 'vitest';

import { RuleRefusal, Unreachable } from '../../../src/base/errors.ts';
import type { FetchInit } from '../../../src/oauth/base/http.ts';
import {
  discoverProtectedResource,
  protectedResourceLocations,
} from '../../../src/oauth/discovery/protected-resource.ts';
import { refusalOf } from '../refusal.ts';
import { now, openSite, siteOfFile } from '../site.ts';

const pathSpecific = '/.well-known/oauth-protected-resource/mcp';
const root = '/.well-known/oauth-protected-resource';

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
  it('D-3: asks for metadata at the path-specific location, then at the root', async () => {
    site.lay(root, document({ scopes_supported: ['a', 'b'] }));
    expect(await discover()).toEqual({
      resource: endpoint,
      authorizationServers: ['https://issuer.example'],
      scopesSupported: ['a', 'b'],
      metadataUrl: site.origin + root,
      freshUntil: now + 3_600_000,
    });
    expect(site.asked.map(({ path }) => path)).toEqual([pathSpecific, root]);
  });

  it('D-3: asks at one location for an endpoint without a path', () => {
    expect(protectedResourceLocations('https://server.example/a/b')).toEqual([
      'https://server.example/.well-known/oauth-protected-resource/a/b',
      'https://server.example/.well-known/oauth-protected-resource',
    ]);
    expect(protectedResourceLocations('https://server.example')).toHaveLength(1);
  });

  it('D-2: uses the document that the challenge names, and no other', async () => {
    site.lay('/named', document());
    site.lay(pathSpecific, document({ authorization_servers: ['https://other.example'] }));
    expect(await discover(`${site.origin}/named`)).toMatchObject({
      authorizationServers: ['https://issuer.example'],
    });
    expect(site.asked.map(({ path }) => path)).toEqual(['/named']);
  });

  it('refuses if the document that the challenge names is absent, even if another exists', async () => {
    site.lay(pathSpecific, document());
    const refusal = await refusalOf(() => discover(`${site.origin}/named`));
    expect(refusal).toMatchObject({ reason: 'metadata_invalid', message: expect.stringContaining('/named') });
  });

  it('E-3: refuses by name if a web page is where the challenge names the document, even if another document exists', async () => {
    site.lay(pathSpecific, document());
    site.lay('/named', { headers: { 'content-type': 'text/html' }, body: '<html>' });
    expect(await refusalOf(() => discover(`${site.origin}/named`))).toMatchObject({
      reason: 'metadata_invalid',
      message: expect.stringContaining('/named", but what is there is no JSON'),
    });
  });

  it.each(['javascript:alert(1)', 'http://server.example/m', 'file:///m'])(
    'D-2: refuses a challenge whose metadata is at %s',
    async (url) => {
      expect((await refusalOf(() => discover(url))).reason).toBe('insecure_url');
    },
  );

  it('D-2: accepts the named document from another origin if it is about this server', async () => {
    const elsewhere = await openSite();
    try {
      elsewhere.lay('/m', document());
      const http = {
        ...site.http,
        fetch: (url: string, init: FetchInit) =>
          (url.startsWith(elsewhere.origin) ? elsewhere : site).http.fetch(url, init),
      };
      const challenge = { resourceMetadata: `${elsewhere.origin}/m` };
      expect(await discoverProtectedResource(endpoint, challenge, http)).toMatchObject({
        resource: endpoint,
        metadataUrl: `${elsewhere.origin}/m`,
      });
      elsewhere.lay('/m', document({ resource: `${elsewhere.origin}/mcp` }));
      const refusal = await refusalOf(() => discoverProtectedResource(endpoint, challenge, http));
      expect(refusal.reason).toBe('resource_mismatch');
    } finally {
      await elsewhere.close();
    }
  });

  it.each([401, 403, 404, 405])(
    'D-2: refuses by name if the document that the challenge names answers %i',
    async (status) => {
      site.lay('/named', { status });
      site.lay(pathSpecific, document());
      const refusal = await refusalOf(() => discover(`${site.origin}/named`));
      expect(refusal).toMatchObject({
        reason: 'metadata_invalid',
        message: expect.stringContaining('/named'),
      });
      expect(site.asked).toHaveLength(1);
    },
  );

  it('D-3 N-12: asks at the root if the path-specific location answers 401, 403 or 404', async () => {
    site.lay(root, document());
    for (const status of [401, 403, 404]) {
      site.lay(pathSpecific, { status });
      expect(await discover()).toMatchObject({ resource: endpoint });
    }
  });

  it('finds no metadata only if every location is absent', async () => {
    expect(await discover()).toBeUndefined();
    site.lay(root, { status: 500 });
    const error = await refusalOf(() => discover());
    expect(error).toBeInstanceOf(Unreachable);
    expect(error.reason).toBe('protected_server_unreachable');
  });

  it.each(['https://other.example/mcp', 'https://127.0.0.1/mcp', 'nonsense', '/mcp'])(
    'D-6: refuses metadata whose resource is %s',
    async (resource) => {
      site.lay(pathSpecific, document({ resource }));
      const refusal = await refusalOf(() => discover());
      expect(refusal).toBeInstanceOf(RuleRefusal);
      expect(refusal.reason).toBe('resource_mismatch');
    },
  );

  it('D-6 N-10: refuses metadata for another part of the server', async () => {
    for (const resource of [`${endpoint}/deeper`, `${site.origin}/mc`, `${endpoint}#part`]) {
      site.lay(pathSpecific, document({ resource }));
      expect((await refusalOf(() => discover())).reason).toBe('resource_mismatch');
    }
  });

  it.each(['/mcp/', '/', '', '/mcp?tenant=1'])(
    'I-3 N-10: keeps a resource that ends in %j unchanged',
    async (end) => {
      const resource = site.origin.replace('https', 'HTTPS') + end;
      site.lay(pathSpecific, document({ resource }));
      expect(await discover()).toMatchObject({ resource });
    },
  );

  it('I-2: uses the canonical endpoint if the metadata names no resource', async () => {
    site.lay(pathSpecific, { body: { authorization_servers: ['https://issuer.example'] } });
    expect(await discover()).toMatchObject({ resource: endpoint });
  });

  it('a field of the metadata that is null counts as absent', async () => {
    site.lay(pathSpecific, document({ resource: null, scopes_supported: null, jwks_uri: null }));
    const found = await discover();
    expect(found).toMatchObject({ resource: endpoint });
    expect(found).not.toHaveProperty('scopesSupported');
    site.lay(pathSpecific, document({ authorization_servers: null }));
    expect((await refusalOf(() => discover())).reason).toBe('metadata_invalid');
  });

  it('reads metadata with a malformed entry in one of its lists', async () => {
    const servers = [7, null, '', 'https://issuer.example'];
    site.lay(pathSpecific, document({ authorization_servers: servers, scopes_supported: ['a', {}, 'b'] }));
    expect(await discover()).toMatchObject({
      authorizationServers: ['https://issuer.example'],
      scopesSupported: ['a', 'b'],
    });
  });

  it.each([
    { authorization_servers: [] },
    { authorization_servers: undefined },
    { authorization_servers: [7] },
    { resource: 7 },
    { scopes_supported: 7 },
  ])('D-4: refuses a document with %j', async (changes) => {
    site.lay(pathSpecific, document(changes));
    expect((await refusalOf(() => discover())).reason).toBe('metadata_invalid');
  });
});
