/** The bent protected server: right by itself, and bent just so far as a test bends it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBentProtectedServer } from '../support/bent/protected-server.ts';
import { json, redirectTo } from '../support/bent/server.ts';
import { type BentWorld, openBentWorld } from '../support/bent/world.ts';
import { signedIn, visited } from './bent-client.ts';

let world: BentWorld;
beforeEach(async () => {
  world = await openBentWorld();
});
afterEach(async () => world.close());

const server = () => world.protectedServer;

async function tokenFor(scope = 'read'): Promise<string> {
  return (await signedIn(world, undefined, { scope })).tokens.access_token;
}

describe('a request', () => {
  it('without a token is challenged with the metadata and the scope', async () => {
    const { origin } = server().server;
    expect(await visited(world)).toEqual({
      status: 401,
      challenge: `Bearer scope="read", resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
    });
  });

  it('with a good token shows whose it is', async () => {
    const headers = { authorization: `Bearer ${await tokenFor()}` };
    const answer = await world.fetch(server().url, { method: 'POST', headers, body: '{}' });
    expect(await answer.json()).toEqual({ ok: true, account: 'alice', scopes: ['read'] });
  });

  it('with too few scopes is told which it needs', async () => {
    server().bend.neededScopes = ({ query }) => (query.has('write') ? ['read', 'write'] : ['read']);
    const token = await tokenFor();
    expect((await visited(world, token)).status).toBe(200);
    const refused = await visited(world, token, `${server().url}?write`);
    expect(refused.status).toBe(403);
    expect(refused.challenge).toMatch(
      /^Bearer error="insufficient_scope", scope="read write", resource_metadata=/,
    );
    const wider = await tokenFor('read write');
    expect((await visited(world, wider, `${server().url}?write`)).status).toBe(200);
  });

  it('with a token in its query is refused', async () => {
    const url = `${server().url}?access_token=${await tokenFor()}`;
    expect((await visited(world, undefined, url)).status).toBe(400);
  });

  it('with a token for another resource is refused', async () => {
    const other = await world.openProtectedServer({ authorizationServers: [world.authorizationServer] });
    const token = await tokenFor();
    const refused = await visited(world, token, other.url);
    expect(refused.status).toBe(401);
    expect(refused.challenge).toContain('error="invalid_token"');
    world.authorizationServer.bend.accessTokenClaims = (claims) => ({
      ...claims,
      aud: [server().url, other.url],
    });
    const both = await tokenFor();
    expect((await visited(world, both, other.url)).status).toBe(200);
    expect((await visited(world, both)).status).toBe(200);
  });

  it('with a token of another authorization server is refused', async () => {
    const stranger = await openBentWorld();
    stranger.protectedServer.settings.resource = server().url;
    const { tokens } = await signedIn(stranger);
    expect((await visited(world, tokens.access_token)).status).toBe(401);
    server().settings.authorizationServers = [world.authorizationServer, stranger.authorizationServer];
    expect((await visited(world, tokens.access_token)).status).toBe(200);
    await stranger.close();
  });

  it('is recorded with the token that came and the verdict', async () => {
    const token = await tokenFor();
    await visited(world, undefined, `${server().url}?a=b`);
    await visited(world, token);
    expect(server().visits).toEqual([
      { method: 'GET', authorization: undefined, query: '?a=b', status: 401 },
      { method: 'GET', authorization: `Bearer ${token}`, query: '', status: 200 },
    ]);
    expect(server().server.holding(token)).toHaveLength(1);
    expect(world.authorizationServer.server.holding(token)).toEqual([]);
  });
});

describe('the metadata', () => {
  const statuses = () =>
    Promise.all(Object.values(server().metadataUrls).map(async (url) => (await world.fetch(url)).status));

  it('is at the places that are set, and names the issuers', async () => {
    expect(await statuses()).toEqual([200, 404, 404]);
    server().settings.metadataAt = ['root', 'elsewhere'];
    expect(await statuses()).toEqual([404, 200, 200]);
    server().settings.metadataAt = [];
    expect(await statuses()).toEqual([404, 404, 404]);
    expect(server().document()).toEqual({
      resource: server().url,
      authorization_servers: [world.authorizationServer.issuer],
      bearer_methods_supported: ['header'],
    });
  });

  it('decides which place the challenge names', async () => {
    const named = async (options: Parameters<typeof openBentProtectedServer>[0]) => {
      const other = await world.openProtectedServer(options);
      return { urls: other.metadataUrls, ...(await visited(world, undefined, other.url)) };
    };
    const elsewhere = await named({ metadataAt: ['elsewhere'], scopes: [] });
    expect(elsewhere.challenge).toBe(`Bearer resource_metadata="${elsewhere.urls.elsewhere}"`);
    expect((await named({ metadataAt: [], scopes: [] })).challenge).toBe('Bearer');
    const root = await named({ path: '/', scopeInChallenge: false });
    expect(root.challenge).toBe(`Bearer resource_metadata="${root.urls.root}"`);
    expect(root.urls.path).toBe(root.urls.root);
  });

  it('may be on another server, and be bent', async () => {
    const other = await world.openServer();
    other.on('GET', '/about', () => json(server().document()));
    server().settings.metadataUrl = `${other.origin}/about`;
    expect((await visited(world)).challenge).toContain(`resource_metadata="${other.origin}/about"`);
    expect(await (await world.fetch(`${other.origin}/about`)).json()).toEqual(server().document());
    server().bend.metadata = (document) => ({ ...document, resource: 'https://other.example' });
    const bent = await world.fetch(server().metadataUrls.path);
    expect(await bent.json()).toMatchObject({ resource: 'https://other.example' });
  });
});

describe('a bend', () => {
  it('gives the next requests, or every request, a verdict of its own', async () => {
    const token = await tokenFor();
    server().next({ status: 500 }, { status: 401, error: 'invalid_token' });
    const scripted = [await visited(world, token), await visited(world, token), await visited(world, token)];
    expect(scripted.map(({ status }) => status)).toEqual([500, 401, 200]);
    let asked = 0;
    server().always(() => ({ status: 403, error: 'insufficient_scope', scope: `more:${(asked += 1)}` }));
    await visited(world, token);
    expect((await visited(world, token)).challenge).toContain('scope="more:2"');
    server().always(undefined);
    expect((await visited(world, token)).status).toBe(200);
    server().bend.verdict = (verdict) => ({ ...verdict, status: 418 });
    expect((await visited(world, token)).status).toBe(418);
  });

  it('changes the challenge, down to the text of the header', async () => {
    server().bend.challenge = (challenge) => ({ ...challenge, scope: 'a "b"' });
    expect((await visited(world)).challenge).toContain('scope="a \\"b\\""');
    server().bend.challenge = () => ['Basic realm="x"', 'Bearer scope='];
    expect((await visited(world)).challenge).toBe('Basic realm="x", Bearer scope=');
    server().bend.challenge = () => undefined;
    expect((await visited(world)).challenge).toBeNull();
  });

  it('redirects in place of an answer', async () => {
    const other = await world.openServer();
    server().bend.answer = () => redirectTo(`${other.origin}/steal`, 307);
    expect((await visited(world, await tokenFor())).status).toBe(307);
  });

  it('lets everybody in', async () => {
    server().settings.open = true;
    expect((await visited(world)).status).toBe(200);
  });
});

describe('one origin for both servers', () => {
  it('works as two origins do', async () => {
    const one = await openBentWorld({ oneOrigin: true });
    expect(new URL(one.protectedServer.url).origin).toBe(one.authorizationServer.issuer);
    const { tokens } = await signedIn(one);
    expect((await visited(one, tokens.access_token)).status).toBe(200);
    await one.close();
  });
});
