/** The world of right servers by itself, driven by an OAuth client and an MCP client that aren't ours. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as client from 'openid-client';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CookieJar } from '../../demo/user-agent.ts';
import { verdictOn } from '../support/servers/notebook.ts';
import { openWorld, type TestWorld } from '../support/world.ts';
import { register, signIn, type SignedIn } from '../support/sign-in.ts';

async function json(world: TestWorld, url: string): Promise<Record<string, unknown>> {
  const response = await world.fetch(url);
  expect(response.status).toBe(200);
  return (await response.json()) as Record<string, unknown>;
}

function refreshTokenOf({ tokens }: SignedIn): string {
  expect(tokens.refresh_token).toBeTypeOf('string');
  return tokens.refresh_token ?? '';
}

/** The `error` of an OAuth answer that refuses. */
async function oauthError(refused: Promise<unknown>): Promise<string> {
  try {
    await refused;
  } catch (error) {
    if (error instanceof client.ResponseBodyError) return error.error;
    if (error instanceof client.AuthorizationResponseError) return error.error;
    throw error;
  }
  return 'none: it was granted';
}

let world: TestWorld;
let resource: string;

beforeAll(async () => {
  world = await openWorld();
  resource = world.protectedServer.resource;
});
afterAll(async () => {
  expect(world.counts().authorizationServer.serverErrors).toBe(0);
  await world.close();
});
beforeEach(() => world.authorizationServer.setTokenGate());

describe('the way to a token', () => {
  it('leads from a challenge through the metadata to an answer, and every step is counted', async () => {
    const fresh = await openWorld();
    try {
      const refused = await verdictOn(fresh, undefined);
      expect(refused.status).toBe(401);
      expect(refused.challenge).toContain(`resource_metadata="${fresh.protectedServer.metadataUrl}"`);
      expect(refused.challenge).toContain('scope="notes:read"');

      const metadata = await json(fresh, fresh.protectedServer.metadataUrl);
      expect(metadata).toMatchObject({
        resource: fresh.protectedServer.resource,
        authorization_servers: [fresh.authorizationServer.issuer],
        scopes_supported: ['notes:read'],
      });

      const signedIn = await signIn(fresh, { scope: 'notes:read' });
      expect(signedIn.redirect.searchParams.get('iss')).toBe(fresh.authorizationServer.issuer);
      expect(signedIn.tokens).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'notes:read' });
      const answer = await verdictOn(fresh, signedIn.tokens.access_token);
      expect(answer.status).toBe(200);
      expect(answer.body).toContain(String.raw`\"account\":\"alice\"`);

      expect(fresh.counts()).toEqual({
        authorizationServer: {
          signIns: 1,
          authorizations: 1,
          registrations: 1,
          tokenRequests: 1,
          codeExchanges: 1,
          refreshes: 0,
          refreshReuses: 0,
          deniedTokenRequests: 0,
          revocations: 0,
          introspections: 1,
          serverErrors: 0,
        },
        protectedServer: { requests: 2, unauthorized: 1, insufficientScope: 0, served: 1 },
      });
    } finally {
      await fresh.close();
    }
  });

  it('is described alike at both well-known places', async () => {
    const { issuer } = world.authorizationServer;
    const oauth = await json(world, `${issuer}/.well-known/oauth-authorization-server`);
    const openid = await json(world, `${issuer}/.well-known/openid-configuration`);
    expect(oauth).toEqual(openid);
    expect(oauth).toMatchObject({
      issuer,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      scopes_supported: ['openid', 'offline_access', 'notes:read', 'notes:write'],
    });
    for (const endpoint of ['registration_endpoint', 'revocation_endpoint', 'introspection_endpoint']) {
      expect(oauth[endpoint]).toMatch(new RegExp(`^${issuer}/`));
    }
  });

  it('serves the MCP client of the SDK, each account its own notes', async () => {
    for (const account of ['alice', 'bob']) {
      const { tokens } = await signIn(world, { scope: 'notes:read notes:write', account });
      const transport = new StreamableHTTPClientTransport(new URL(world.protectedServer.url), {
        fetch: world.fetch,
        requestInit: { headers: { authorization: `Bearer ${tokens.access_token}` } },
      });
      const mcp = new Client({ name: 'a test', version: '1' });
      await mcp.connect(transport);
      const note = `a note of ${account}`;
      await mcp.callTool({ name: 'add-note', arguments: { note } });
      const { content } = await mcp.callTool({ name: 'list-notes' });
      expect(content).toEqual([{ type: 'text', text: JSON.stringify({ account, notes: [note] }) }]);
      await mcp.close();
    }
  });

  it('grants the default scopes to a request without scope', async () => {
    const { tokens } = await signIn(world);
    expect(tokens.scope).toBe('notes:read');
  });

  it('gives an ID token with the account as subject when openid is asked for', async () => {
    const { tokens } = await signIn(world, { scope: 'openid notes:read', account: 'bob' });
    const payload = tokens.id_token?.split('.')[1] ?? '';
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({
      iss: world.authorizationServer.issuer,
      sub: 'bob',
    });
  });

  it('ends with access_denied when the person denies', async () => {
    const denied = signIn(world, { scope: 'notes:read', deny: true });
    expect(await oauthError(denied)).toBe('access_denied');
  });

  it('is closed to a request without PKCE', async () => {
    const config = await register(world);
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: 'http://127.0.0.1:9/callback',
      resource,
    });
    const response = await world.fetch(url, { redirect: 'manual' });
    expect(response.headers.get('location')).toContain('error=invalid_request');
  });

  it('is closed to an unknown account', async () => {
    await expect(signIn(world, { account: 'mallory' })).rejects.toMatchObject({ reason: 'login_failed' });
  });
});

describe('a token', () => {
  it('of too little scope is refused with the scopes that are needed', async () => {
    const { tokens } = await signIn(world, { scope: 'notes:read' });
    const refused = await verdictOn(world, tokens.access_token, 'add-note');
    expect(refused.status).toBe(403);
    expect(refused.challenge).toContain('error="insufficient_scope"');
    expect(refused.challenge).toContain('scope="notes:read notes:write"');
    expect(refused.challenge).toContain(`resource_metadata="${world.protectedServer.metadataUrl}"`);

    const wider = await signIn(world, { scope: 'notes:read notes:write' });
    expect((await verdictOn(world, wider.tokens.access_token, 'add-note')).status).toBe(200);
  });

  it('of too little scope is not helped by a batch', async () => {
    const { tokens } = await signIn(world, { scope: 'notes:read' });
    const message = (name: string) => ({ jsonrpc: '2.0', id: name, method: 'tools/call', params: { name } });
    const response = await world.fetch(world.protectedServer.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens.access_token}` },
      body: JSON.stringify([message('list-notes'), message('add-note')]),
    });
    expect(response.status).toBe(403);
  });

  it('for another resource is refused', async () => {
    const other = 'https://127.0.0.1:1/other';
    world.authorizationServer.addResource({ resource: other, scopes: ['notes:read'], defaultScopes: [] });
    const { tokens } = await signIn(world, { scope: 'notes:read', resource: other });
    expect(await verdictOn(world, tokens.access_token)).toMatchObject({
      status: 401,
      challenge: expect.stringContaining('error="invalid_token"'),
    });
  });

  it('for a resource whose name only looks alike is refused', async () => {
    const other = `${resource}//`;
    world.authorizationServer.addResource({ resource: other, scopes: ['notes:read'], defaultScopes: [] });
    const { tokens } = await signIn(world, { scope: 'notes:read', resource: other });
    expect((await verdictOn(world, tokens.access_token)).status).toBe(401);
  });

  it('for a resource that nobody knows is not issued', async () => {
    const unknown = signIn(world, { scope: 'notes:read', resource: 'https://127.0.0.1:1/unknown' });
    expect(await oauthError(unknown)).toBe('invalid_target');
  });

  it('that is a refresh token opens nothing', async () => {
    const signedIn = await signIn(world, { scope: 'notes:read' });
    expect((await verdictOn(world, refreshTokenOf(signedIn))).status).toBe(401);
  });

  it('that was revoked is refused from then on, and its sibling of the same browser session lives on', async () => {
    const config = await register(world);
    const jar = new CookieJar();
    const signIns = world.counts().authorizationServer.signIns;
    const first = await signIn(world, { scope: 'notes:read', jar }, config);
    const second = await signIn(world, { scope: 'notes:read', jar }, config);
    expect(world.counts().authorizationServer.signIns).toBe(signIns + 1);
    const before = world.counts().authorizationServer.revocations;
    await client.tokenRevocation(config, refreshTokenOf(first));
    await client.tokenRevocation(config, 'a token that never was');
    expect(world.counts().authorizationServer.revocations).toBe(before + 1);
    expect((await verdictOn(world, first.tokens.access_token)).status).toBe(401);
    expect((await verdictOn(world, second.tokens.access_token)).status).toBe(200);
  });

  it('is not revoked by another client', async () => {
    const signedIn = await signIn(world, { scope: 'notes:read' });
    const before = world.counts().authorizationServer.revocations;
    await client.tokenRevocation(await register(world), signedIn.tokens.access_token);
    expect(world.counts().authorizationServer.revocations).toBe(before);
    expect((await verdictOn(world, signedIn.tokens.access_token)).status).toBe(200);
  });
});

describe('a refresh', () => {
  it('rotates, and a second use of a refresh token ends its grant alone', async () => {
    const config = await register(world);
    const bystander = await signIn(world, { scope: 'notes:read' }, config);
    const signedIn = await signIn(world, { scope: 'notes:read' }, config);
    const old = refreshTokenOf(signedIn);
    const before = world.counts().authorizationServer;

    const rotated = await client.refreshTokenGrant(config, old, { resource });
    expect(rotated.refresh_token).not.toBe(old);
    expect((await verdictOn(world, rotated.access_token)).status).toBe(200);
    expect(await oauthError(client.refreshTokenGrant(config, old, { resource }))).toBe('invalid_grant');

    const after = world.counts().authorizationServer;
    expect(after.refreshes).toBe(before.refreshes + 1);
    expect(after.refreshReuses).toBe(before.refreshReuses + 1);
    expect(after.deniedTokenRequests).toBe(before.deniedTokenRequests + 1);
    expect((await verdictOn(world, rotated.access_token)).status).toBe(401);
    expect((await verdictOn(world, bystander.tokens.access_token)).status).toBe(200);
  });

  it('with less scope gives a narrower token and keeps the wider grant', async () => {
    const signedIn = await signIn(world, { scope: 'notes:read notes:write' });
    const narrow = await client.refreshTokenGrant(signedIn.config, refreshTokenOf(signedIn), {
      resource,
      scope: 'notes:read',
    });
    expect(narrow.scope).toBe('notes:read');
    expect((await verdictOn(world, narrow.access_token, 'add-note')).status).toBe(403);
    const wide = await client.refreshTokenGrant(signedIn.config, narrow.refresh_token ?? '', { resource });
    expect(wide.scope?.split(' ').sort()).toEqual(['notes:read', 'notes:write']);
  });

  it('can not widen the scope', async () => {
    const signedIn = await signIn(world, { scope: 'notes:read' });
    const wider = client.refreshTokenGrant(signedIn.config, refreshTokenOf(signedIn), {
      resource,
      scope: 'notes:read notes:write',
    });
    expect(await oauthError(wider)).toBe('invalid_scope');
  });

  it('after access tokens were expired works, after grants were ended does not', async () => {
    const signedIn = await signIn(world, { scope: 'notes:read' });
    world.expireAccessTokens();
    expect((await verdictOn(world, signedIn.tokens.access_token)).status).toBe(401);
    const refreshed = await client.refreshTokenGrant(signedIn.config, refreshTokenOf(signedIn), { resource });
    expect((await verdictOn(world, refreshed.access_token)).status).toBe(200);
    world.endGrants();
    expect((await verdictOn(world, refreshed.access_token)).status).toBe(401);
    const ended = client.refreshTokenGrant(signedIn.config, refreshed.refresh_token ?? '', { resource });
    expect(await oauthError(ended)).toBe('invalid_grant');
  });
});
