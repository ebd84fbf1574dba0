/** Discovery, from the challenge to the authorization server, against servers that break its rules. */
import { describe, expect, it } from 'vitest';
import { json } from '../support/bent/server.ts';
import type { ResourceMetadataPlace } from '../support/bent/protected-server.ts';
import { ground, metadataPaths, parameter, refused, reject, states, type GroundOptions } from './ground.ts';

const pathDocument = '/.well-known/oauth-protected-resource/mcp';
const rootDocument = '/.well-known/oauth-protected-resource';
const serverDocument = '/.well-known/oauth-authorization-server';

/** Metadata at these places, and a challenge that names none. */
const unnamed = (...metadataAt: ResourceMetadataPlace[]) => ({
  protection: { metadataAt, metadataUrl: undefined },
});

describe('the document that a challenge names', () => {
  it('B-9 D-2 E-6 F-5: uses the document that a challenge names, and no other', async () => {
    const { rig, protectedServer } = await ground({ protection: { metadataAt: ['elsewhere'] } });
    expect((await rig.ask()).resource).toBe(protectedServer.url);
    expect(metadataPaths(protectedServer.server)).toEqual([]);
  });

  it('D-2: refuses a missing document that a challenge names', async () => {
    const { rig, protectedServer } = await ground({ protection: { metadataAt: ['path', 'root'] } });
    protectedServer.settings.metadataUrl = protectedServer.metadataUrls.elsewhere;
    const error = await refused(rig.ask());
    expect(error).toMatchObject({
      reason: 'metadata_invalid',
      message: expect.stringContaining('/about-this-resource'),
    });
    expect(metadataPaths(protectedServer.server)).toEqual([]);
    expect(rig.pages).toEqual([]);
  });

  it('D-1: an unreadable document that a challenge names is an error', async () => {
    const { rig, protectedServer, authorizationServer } = await ground({
      oneOrigin: true,
      protection: { metadataAt: [] },
    });
    protectedServer.bend.challenge = () => 'Bearer resource_metadata=<https://server.example/metadata>';
    const refusal = await refused(rig.ask());
    expect(refusal).toMatchObject({
      reason: 'metadata_invalid',
      rule: expect.stringContaining('RFC 9728 §5.1'),
    });
    expect(refusal.message).toContain("can't be read");
    expect(authorizationServer.counts.registrations).toBe(0);
    expect(rig.pages).toEqual([]);
  });

  it('D-2: may lie on another https origin', async () => {
    const { rig, world, protectedServer } = await ground();
    const other = await world.openServer();
    other.on('GET', '/document', () => json(protectedServer.document()));
    protectedServer.settings.metadataUrl = `${other.origin}/document`;
    expect((await rig.ask()).resource).toBe(protectedServer.url);
    expect(metadataPaths(protectedServer.server)).toEqual([]);
  });
});

/** Its endpoint ends in a slash; `bare` is its canonical form. */
async function slashed(protection: GroundOptions['protection'] = {}) {
  const all = await ground({ protection: { path: '/mcp/', ...protection } });
  const { protectedServer, rig } = all;
  const bare = protectedServer.url.slice(0, -1);
  await rig.allow('editor', undefined, bare);
  const bareVisits = (): number => protectedServer.server.asked('/mcp', 'GET').length;
  return { ...all, bare, bareVisits };
}

describe('a slash at the end of an endpoint', () => {
  it.each<[string, GroundOptions['protection']]>([
    ['named by the challenge', {}],
    ['at the well-known place of that path', { metadataUrl: undefined }],
  ])(
    'D-3: keeps the slash at the end of an endpoint as it was typed, with metadata %s',
    async (_what, protection) => {
      const { rig, protectedServer, bareVisits } = await slashed(protection);
      const first = await rig.ask({ resource: protectedServer.url });
      expect(first.resource).toBe(protectedServer.url);
      expect(parameter(rig.pages[0], 'resource')).toBe(protectedServer.url);
      // The next probe, after a rejected token, is of the same spelling.
      reject(rig, first);
      await rig.ask({ resource: protectedServer.url });
      expect(bareVisits()).toBe(0);
    },
  );

  it('an endpoint with a slash is no second endpoint', async () => {
    const { rig, protectedServer, authorizationServer, bare } = await slashed();
    const { tokenId } = await rig.ask({ resource: protectedServer.url });
    expect((await rig.ask({ resource: bare, interaction: 'never' })).tokenId).toBe(tokenId);
    expect(rig.signIn().endpoints).toEqual([bare]);
    expect(authorizationServer.counts.authorizations).toBe(1);
  });

  it.each([302, 308] as const)(
    'D-2: follows a %i to the endpoint with a slash, and the challenge there counts',
    async (otherEnd) => {
      const { rig, protectedServer, bare } = await slashed({ otherEnd, metadataAt: ['elsewhere'] });
      expect((await rig.ask({ resource: bare })).resource).toBe(protectedServer.url);
    },
  );
});

describe('metadata that no challenge names', () => {
  it('B-9 D-3 N-12: looks for metadata at the path of the endpoint, then at the root', async () => {
    const { rig, protectedServer } = await ground(unnamed('root'));
    expect((await rig.ask()).resource).toBe(protectedServer.url);
    expect(metadataPaths(protectedServer.server)).toEqual([pathDocument, rootDocument]);
  });

  it.each([
    ['a 500', { status: 500 }],
    ['a broken connection', 'destroy'],
  ] as const)('D-3 N-12: is an error after %s, never a reason for defaults', async (_what, answer) => {
    const { rig, protectedServer, authorizationServer } = await ground({ oneOrigin: true, ...unnamed() });
    protectedServer.server.on('GET', pathDocument, answer);
    expect(await refused(rig.ask())).toMatchObject({ reason: 'mcp_server_unreachable' });
    expect(authorizationServer.counts.metadataRequests).toBe(0);
    expect(authorizationServer.server.asked('/register', 'POST')).toEqual([]);
  });
});

describe('an MCP server', () => {
  it('F-1: that answers 200 without a token and metadata needs no authorization', async () => {
    const { rig } = await ground({ protection: { open: true, metadataAt: [] } });
    expect(await refused(rig.ask())).toMatchObject({ reason: 'authorization_not_required' });
    expect(rig.pages).toEqual([]);
  });

  it('F-1: that can’t answer a POST now is unreachable, whatever a GET says', async () => {
    const { rig, protectedServer } = await ground({ protection: { metadataAt: [], metadataUrl: undefined } });
    protectedServer.server.on('GET', '/mcp', { status: 405 });
    protectedServer.server.on('POST', '/mcp', { status: 502 });
    expect(await refused(rig.ask())).toMatchObject({ reason: 'mcp_server_unreachable' });
  });

  it.each([
    ['has no authorization_servers', undefined],
    ['has an empty list of them', []],
  ])('D-4: refuses an MCP server whose metadata %s', async (_what, list) => {
    const { rig, protectedServer, authorizationServer } = await ground({ oneOrigin: true });
    states(protectedServer, { authorization_servers: list });
    expect(await refused(rig.ask())).toMatchObject({ reason: 'metadata_invalid' });
    expect(authorizationServer.counts.metadataRequests).toBe(0);
  });

  it('I-2: whose metadata names no resource gets its endpoint’s canonical URI', async () => {
    const { rig, protectedServer } = await ground();
    states(protectedServer, { resource: undefined });
    expect((await rig.ask({ resource: `${protectedServer.url}/` })).resource).toBe(protectedServer.url);
    expect(parameter(rig.pages[0], 'resource')).toBe(protectedServer.url);
  });

  it.each([
    ['another host', () => 'https://other.example/mcp'],
    [
      'itself in a text that no list could show',
      (url: string) => url.replace('/mcp', `/${'x/../'.repeat(500)}mcp`),
    ],
  ])('B-10 D-6 N-10: opens no page for protected resource metadata about %s', async (_what, resource) => {
    const { rig, protectedServer, authorizationServer } = await ground();
    states(protectedServer, { resource: resource(protectedServer.url) });
    expect(await refused(rig.ask())).toMatchObject({ reason: 'resource_mismatch' });
    expect(authorizationServer.server.requests).toEqual([]);
  });
});

describe('the metadata of an authorization server', () => {
  it('B-11 M-1 M-2 M-3: looks for metadata of an issuer with a path at three places', async () => {
    const { rig, authorizationServer } = await ground({
      authorization: { issuerPath: '/tenant', metadataAt: ['oidcAppended'] },
    });
    expect((await rig.ask()).issuer).toBe(authorizationServer.issuer);
    expect(metadataPaths(authorizationServer.server)).toEqual([
      `${serverDocument}/tenant`,
      '/.well-known/openid-configuration/tenant',
      '/tenant/.well-known/openid-configuration',
    ]);
  });

  it('B-13 N-3: does not use server metadata that states another issuer', async () => {
    const { rig, authorizationServer } = await ground();
    states(authorizationServer, { issuer: 'https://issuer.example' });
    expect(await refused(rig.ask())).toMatchObject({ reason: 'issuer_mismatch', rule: 'RFC 8414 §3.3' });
    expect(authorizationServer.server.asked('/register', 'POST')).toEqual([]);
    expect(rig.pages).toEqual([]);
  });

  it.each([
    ['authorization_endpoint', 'javascript:alert(1)'],
    ['token_endpoint', 'http://issuer.example/x'],
    ['device_authorization_endpoint', 'data:text/html,x'],
  ])('M-5 X-3: refuses an authorization server whose %s is %s', async (name, url) => {
    const { rig, authorizationServer } = await ground();
    states(authorizationServer, { [name]: url });
    expect(await refused(rig.ask())).toMatchObject({ reason: 'insecure_url' });
    expect(rig.pages).toEqual([]);
    expect(authorizationServer.counts.registrations).toBe(0);
  });

  it('N-3: uses an issuer that ends in a slash if its metadata says so itself', async () => {
    const { rig, authorizationServer } = await ground({ authorization: { issuerPath: '/' } });
    expect((await rig.ask()).issuer).toBe(`${authorizationServer.server.base}/`);
  });
});

const kept = (seconds: number) => ({ 'cache-control': `max-age=${seconds}` });

describe('metadata', () => {
  it('M-7: keeps metadata as long as its HTTP headers say', async () => {
    const { rig, world, authorizationServer } = await ground({ authorization: { accessTokenLifetime: 30 } });
    const document: unknown = await (await world.fetch(authorizationServer.issuer + serverDocument)).json();
    authorizationServer.server.on('GET', serverDocument, json(document, 200, kept(60)));
    await rig.ask();
    const asked = (): number => authorizationServer.server.asked(serverDocument).length;
    const before = asked();
    rig.clock.advance(40_000);
    await rig.ask();
    expect(asked()).toBe(before);
    rig.clock.advance(40_000);
    await rig.ask();
    expect(asked()).toBe(before + 1);
    expect(authorizationServer.counts.refreshes).toBe(2);
  });

  it('M-7: each sign-in asks for metadata anew, however long it may be kept', async () => {
    const { rig, world, authorizationServer } = await ground();
    const document: unknown = await (await world.fetch(authorizationServer.issuer + serverDocument)).json();
    authorizationServer.server.on('GET', serverDocument, json(document, 200, kept(9999)));
    await rig.login();
    const before = authorizationServer.server.asked(serverDocument).length;
    await rig.login();
    expect(authorizationServer.server.asked(serverDocument)).toHaveLength(before + 1);
  });
});

it('B-1: an app that lies about a step-up’s scope needs the user’s consent first', async () => {
  const { rig } = await ground();
  await rig.allow('liar', ['read']);
  const challenge = { status: 403, bearer: { error: 'insufficient_scope', scope: ['admin'] } } as const;
  const error = await refused(rig.ask({ appId: 'liar', challenge, interaction: 'never' }));
  expect(error.reason).toBe('consent_required');
  expect(rig.fetched).toEqual([]);
});

it('B-1: an app’s hint about the document is used if it names the server’s origin', async () => {
  const { rig, protectedServer } = await ground(unnamed('elsewhere'));
  const bearer = { resourceMetadata: protectedServer.metadataUrls.elsewhere };
  expect((await rig.ask({ challenge: { status: 401, bearer } })).resource).toBe(protectedServer.url);
});

describe('plain http', () => {
  it('F-2: refuses plain http for a resource, also on this machine', async () => {
    const { rig, protectedServer } = await ground({ plain: true });
    expect(await refused(rig.ask())).toMatchObject({ reason: 'invalid_resource' });
    expect(protectedServer.server.requests).toEqual([]);
  });

  it('F-2: works on this machine if the settings allow it', async () => {
    const { rig, protectedServer } = await ground({ plain: true, rig: { allowInsecureLoopback: true } });
    expect((await rig.ask()).resource).toBe(protectedServer.url);
    expect(protectedServer.url).toMatch(/^http:/);
  });
});
