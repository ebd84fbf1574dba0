/** Where tokens are: each at its own server, in no URL and in no file. */
import { describe, expect, it } from 'vitest';
import { revokeSignIn } from '../../src/broker/revocation/revoker.ts';
import { hour, ground, reject, rigIn, stepUp, tokenRequests, use } from './ground.ts';

describe('tokens', () => {
  it('A-2 PROMISE-4: are in no URL, from the first sign-in to the revocation', async () => {
    const all = await ground();
    const { rig, world, authorizationServer, protectedServer } = all;
    await rig.login({ scope: ['read', 'list'] });
    await rig.allow('reader', ['read']);
    await use(all, (await rig.ask({ appId: 'reader' })).accessToken);
    await use(all, (await rig.ask(stepUp('write'))).accessToken);
    rig.clock.advance(hour);
    await use(all, (await rig.ask()).accessToken);
    const other = await world.openProtectedServer({ authorizationServers: [authorizationServer] });
    const elsewhere = await rigIn(world, other.url);
    await elsewhere.allow();
    await elsewhere.ask();
    await revokeSignIn(rig.parts, rig.signIn());
    const secrets = [
      ...authorizationServer.refreshTokens,
      ...authorizationServer.accessTokens.map((t) => t.token),
    ];
    expect(secrets.length).toBeGreaterThan(6);
    const urls = [
      ...rig.fetched,
      ...rig.pages,
      ...[authorizationServer, protectedServer, other].flatMap(({ server }) =>
        server.requests.map(({ url }) => url.href),
      ),
    ];
    for (const url of urls) for (const secret of secrets) expect(url).not.toContain(secret);
  });

  it('A-5: of two issuers, or for two resources of one, are never mixed up', async () => {
    const { rig, world, authorizationServer, protectedServer } = await ground();
    const other = await world.openAuthorizationServer();
    const servers = [
      { url: protectedServer.url, at: authorizationServer },
      {
        url: (await world.openProtectedServer({ authorizationServers: [authorizationServer] })).url,
        at: authorizationServer,
      },
      { url: (await world.openProtectedServer({ authorizationServers: [other] })).url, at: other },
    ];
    for (const { url } of servers) await rig.allow('editor', undefined, url);
    // The first round signs in, the second refreshes, the third finds the tokens in memory.
    for (const pause of [0, hour, 0]) {
      rig.clock.advance(pause);
      for (const { url, at } of servers) {
        const { accessToken, issuer } = await rig.ask({ resource: url });
        expect(issuer).toBe(at.issuer);
        expect(at.verify(accessToken)?.audience).toEqual([url]);
      }
    }
    expect(tokenRequests(other)).toHaveLength(2);
  });

  it('A-5: no request of ours carries a token to the MCP server', async () => {
    const { rig, protectedServer } = await ground();
    await rig.ask();
    rig.clock.advance(hour);
    reject(rig, await rig.ask());
    await rig.ask();
    expect(protectedServer.visits.map(({ authorization }) => authorization)).not.toContainEqual(
      expect.anything(),
    );
  });
});
