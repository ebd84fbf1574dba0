/** Which revision a protected server follows, and whether it wants authorization at all. */
import { describe, expect, it } from 'vitest';

import { Unreachable } from '../../../src/base/errors.ts';
import { discoverResource } from '../../../src/oauth/discovery/discovery.ts';
import { refusalOf } from '../refusal.ts';
import { siteOfFile } from '../site.ts';
import type { Page } from '../site.ts';

const pathSpecific = '/.well-known/oauth-protected-resource/mcp';

const site = await siteOfFile();
const endpoint = `${site.origin}/mcp`;

const discover = async () => (await discoverResource(endpoint, site.http)).found;
const document = { authorization_servers: ['https://issuer.example'] };

describe('a protected server', () => {
  it.each([401, 403])('E-6 F-5: a server whose %i names metadata is protected', async (status) => {
    const challenge = `Bearer resource_metadata="${site.origin}/named"`;
    site.lay('/mcp', { status, headers: { 'www-authenticate': challenge } });
    site.lay('/named', { body: document });
    expect(await discover()).toMatchObject({
      kind: 'protected',
      resource: { resource: endpoint, authorizationServers: ['https://issuer.example'] },
    });
  });

  it('a server with metadata at a well-known location is protected, whatever its status', async () => {
    site.lay('/mcp', { status: 200 });
    site.lay(pathSpecific, { body: document });
    expect(await discover()).toMatchObject({ kind: 'protected' });
  });

  it('a server is of the earlier revision if it refuses its metadata by any 4xx', async () => {
    site.lay('/mcp', { status: 401 });
    site.lay(pathSpecific, { status: 400 });
    expect(await discover()).toMatchObject({ kind: 'earlierRevision' });
  });

  it.each([[401], [403]])(
    'E-6: a server without metadata follows the earlier revision after a %i',
    async (status) => {
      site.lay('/mcp', { status });
      expect(await discover()).toEqual({
        kind: 'earlierRevision',
        resource: endpoint,
        authorizationBaseUrl: site.origin,
      });
    },
  );

  it.each<[string, Page]>([
    ['names no authorization server', { body: { resource: 'x' } }],
    ['has an empty list of them', { body: { authorization_servers: [] } }],
    ['is broken JSON', { headers: { 'content-type': 'application/json' }, body: '{' }],
  ])('D-4: a server is not of the earlier revision if its metadata %s', async (_what, page) => {
    site.lay('/mcp', { status: 401 });
    site.lay(pathSpecific, page);
    expect((await refusalOf(discover)).reason).toBe('metadata_invalid');
  });

  it('E-6: a server is not of the earlier revision if its metadata is unreachable', async () => {
    site.lay('/mcp', { status: 401 });
    site.lay(pathSpecific, { status: 503 });
    expect(await refusalOf(discover)).toBeInstanceOf(Unreachable);
  });

  it('a server is not of the earlier revision if the metadata that it names is absent', async () => {
    const challenge = `Bearer resource_metadata="${site.origin}/named"`;
    site.lay('/mcp', { status: 401, headers: { 'www-authenticate': challenge } });
    const refusal = await refusalOf(discover);
    expect(refusal).toMatchObject({ reason: 'metadata_invalid', message: expect.stringContaining('/named') });
  });
});

describe('a server that asks for no token', () => {
  it.each([
    [200, 404],
    [200, 405],
    [200, 400],
    [400, 404],
    [406, 410],
  ])(
    'F-1: an endpoint that answers %i needs no authorization where its metadata answers %i',
    async (status, other) => {
      site.lay('/mcp', { status, body: {} });
      site.lay(pathSpecific, { status: other });
      expect((await refusalOf(discover)).reason).toBe('authorization_not_required');
    },
  );

  it.each([404, 302, 405])('F-1: refuses an endpoint that answers %i and has no metadata', async (status) => {
    site.lay('/mcp', { status });
    const refusal = await refusalOf(discover);
    expect(refusal).toMatchObject({ reason: 'metadata_invalid', hint: expect.stringContaining('URL') });
  });
});
