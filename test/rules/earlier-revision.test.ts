/** MCP servers of the earlier revision, which publish no metadata about themselves. */
import { describe, expect, it } from 'vitest';
import { html, type Answer } from '../support/bent/server.ts';
import {
  enter,
  ground,
  metadataPaths,
  parameter,
  refused,
  scopeOf,
  states,
  tokenRequests,
} from './ground.ts';
import type { Ground, GroundOptions } from './ground.ts';

const protocolVersion = { header: 'CTX-Protocol-Version', value: '2025-03-26' } as const;
const header = 'ctx-protocol-version';
const places = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'] as const;

/** Both servers on one origin; no protected resource metadata anywhere. */
async function earlier({ authorization, protection, rig }: GroundOptions = {}): Promise<Ground> {
  return ground({
    oneOrigin: true,
    ...(authorization ? { authorization } : {}),
    protection: { metadataAt: [], ...protection },
    rig: { protocolVersion, ...rig },
  });
}

const withoutMetadata = { authorization: { metadataAt: [] } } as const;

describe('a server without protected resource metadata', () => {
  it('E-1: has its authorization server at its own origin, whatever its path', async () => {
    const { rig, authorizationServer, protectedServer } = await earlier({
      protection: { path: '/deep/down/mcp' },
    });
    const token = await rig.ask();
    expect(token).toMatchObject({ issuer: authorizationServer.issuer, resource: protectedServer.url });
    const place = { revision: 'earlier', identifier: authorizationServer.server.base, isByMetadata: true };
    expect(rig.signIn().server).toEqual(place);
  });

  it('E-6 F-5: recognizes a server without protected resource metadata by a 403 too', async () => {
    const { rig, protectedServer, authorizationServer } = await earlier();
    protectedServer.bend.verdict = (right) => (right.status === 401 ? { ...right, status: 403 } : right);
    expect((await rig.ask()).issuer).toBe(authorizationServer.issuer);
  });

  it('E-5: sends the protocol version with requests for server metadata only', async () => {
    const { rig, authorizationServer } = await earlier({ authorization: { metadataAt: ['oidc'] } });
    await rig.ask();
    const { requests } = authorizationServer.server;
    const asked = requests.filter((request) => request.headers[header] === '2025-03-26');
    expect(asked.map(({ path }) => path)).toEqual(places);
    expect(requests.filter(({ headers }) => header in headers)).toHaveLength(asked.length);
  });

  it.each([
    ['states another issuer', { issuer: 'https://issuer.example' }, 'issuer_mismatch'],
    ['names no safe PKCE method', { code_challenge_methods_supported: ['plain'] }, 'pkce_unsupported'],
  ])('E-7 E-9: refuses a server whose metadata %s', async (_what, members, reason) => {
    const { rig, authorizationServer } = await earlier();
    states(authorizationServer, members);
    expect(await refused(rig.ask())).toMatchObject({ reason });
    expect(authorizationServer.counts.registrations).toBe(0);
    expect(rig.pages).toEqual([]);
  });
});

describe('the default endpoints', () => {
  it.each([400, 403, 404])(
    'B-29 E-2 E-3 M-4: uses the default endpoints if every place answers %i',
    async (status) => {
      const { rig, authorizationServer } = await earlier(withoutMetadata);
      for (const place of places) authorizationServer.server.on('GET', place, { status });
      expect((await rig.ask()).issuer).toBe(authorizationServer.server.base);
      expect(authorizationServer.counts).toMatchObject({
        registrations: 1,
        authorizations: 1,
        codesRedeemed: 1,
      });
      expect(metadataPaths(authorizationServer.server).slice(-2)).toEqual(places);
    },
  );

  it.each(
    places.flatMap((place) =>
      (
        [
          ['a 500', { status: 500 }],
          ['a web page', html('<h1>Welcome</h1>')],
          ['JSON without meaning', { body: { hello: 'world' } }],
        ] as const
      ).map(([what, answer]: readonly [string, Answer]) => [what, place, answer] as const),
    ),
  )('E-2 E-3 M-4: never uses the default endpoints after %s at %s', async (_what, place, answer) => {
    const { rig, authorizationServer } = await earlier(withoutMetadata);
    authorizationServer.server.on('GET', place, answer);
    const { reason } = await refused(rig.ask());
    expect(['authorization_server_unreachable', 'metadata_invalid', 'issuer_mismatch']).toContain(reason);
    expect(authorizationServer.server.asked('/register', 'POST')).toEqual([]);
    expect(rig.pages).toEqual([]);
  });

  it('E-4: S256, state and resource are sent to the default endpoints too', async () => {
    const { rig, authorizationServer, protectedServer } = await earlier(withoutMetadata);
    await rig.ask();
    const [page] = rig.pages;
    expect(parameter(page, 'code_challenge_method')).toBe('S256');
    expect(parameter(page, 'code_challenge')).toMatch(/^[\w-]{43}$/);
    expect(parameter(page, 'state')).toBeDefined();
    expect(parameter(page, 'resource')).toBe(protectedServer.url);
    const [exchange] = tokenRequests(authorizationServer);
    expect(exchange?.form.get('resource')).toBe(protectedServer.url);
    expect(exchange?.form.get('code_verifier')).toBeTruthy();
  });
});

describe('protected resource metadata that names a server without metadata', () => {
  /** Both servers on one origin, with protected resource metadata. */
  const own = async (): Promise<Ground> => ground({ oneOrigin: true, ...withoutMetadata });

  it('E-2: uses default endpoints of the document’s own origin if it has no metadata', async () => {
    const { rig, authorizationServer, protectedServer } = await own();
    expect((await rig.ask()).issuer).toBe(authorizationServer.issuer);
    const [page] = rig.pages;
    expect(new URL(page ?? '').pathname).toBe('/authorize');
    expect(parameter(page, 'code_challenge_method')).toBe('S256');
    expect(parameter(page, 'resource')).toBe(protectedServer.url);
    expect(authorizationServer.counts).toMatchObject({ registrations: 1, codesRedeemed: 1 });
    expect(rig.signIn().server).toEqual({ revision: 'default', identifier: authorizationServer.issuer });
  });

  it('E-2: finds a server without metadata again after a restart', async () => {
    const { rig, restarted, authorizationServer } = await own();
    await rig.ask();
    await (await restarted()).ask({ interaction: 'never' });
    authorizationServer.settings.metadataAt = ['oauth'];
    await (await restarted()).ask({ interaction: 'never' });
    expect(authorizationServer.counts).toMatchObject({ refreshes: 2, registrations: 1 });
  });

  it.each([
    ['a 500', { status: 500 }],
    ['a web page', html('<h1>Welcome</h1>')],
  ] as const)(
    'E-3: protected resource metadata leads to no default endpoint after %s',
    async (_what, answer) => {
      const { rig, authorizationServer } = await own();
      authorizationServer.server.on('GET', places[0], answer);
      await refused(rig.ask());
      expect(authorizationServer.server.asked('/register', 'POST')).toEqual([]);
      expect(rig.pages).toEqual([]);
    },
  );

  it('E-2: refuses by name a server without metadata on another origin', async () => {
    const { rig, authorizationServer } = await ground(withoutMetadata);
    expect(await refused(rig.ask())).toMatchObject({
      reason: 'metadata_invalid',
      message: expect.stringContaining(authorizationServer.issuer),
      rule: expect.stringContaining('own origin only'),
    });
    expect(authorizationServer.server.asked('/register', 'POST')).toEqual([]);
  });

  it('M-4: moves no sign-in that came by metadata to default endpoints', async () => {
    const { rig, restarted, authorizationServer } = await ground({ oneOrigin: true });
    await rig.ask();
    expect(rig.signIn().server).toMatchObject({ revision: 'current' });
    authorizationServer.settings.metadataAt = [];
    const again = await restarted();
    expect(await refused(again.ask())).toMatchObject({ reason: 'authorization_server_unreachable' });
    expect(authorizationServer.counts.refreshes).toBe(0);
    expect(again.signIn().state).toEqual({ kind: 'active' });
  });
});

describe('metadata that is gone at a sign-in', () => {
  /** An issuer with a path, and metadata that names a token endpoint at another place than the default one. */
  const tenant = async (): Promise<Ground> => {
    const all = await ground({ oneOrigin: true, authorization: { issuerPath: '/tenant' } });
    const { bend, server } = all.authorizationServer;
    bend.metadata = (document) => ({ ...document, token_endpoint: `${server.base}/tenant/token` });
    return all;
  };
  const gone = {
    reason: 'metadata_invalid',
    message: expect.stringContaining('/tenant'),
    hint: expect.stringContaining('keyturn oauth-client remove'),
  };

  it('E-2: sends nothing of a client that was entered by hand to default endpoints', async () => {
    const { rig, authorizationServer } = await tenant();
    await enter(rig, authorizationServer, { clientSecret: 'entered-secret' });
    authorizationServer.settings.metadataAt = [];
    expect(await refused(rig.login())).toMatchObject(gone);
    expect(rig.pages).toEqual([]);
    expect(authorizationServer.server.holding('entered-secret')).toEqual([]);
    expect(tokenRequests(authorizationServer)).toEqual([]);
  });

  it('E-2: sends no refresh token to default endpoints after a web page', async () => {
    const { rig, restarted, authorizationServer } = await earlier();
    await rig.ask();
    authorizationServer.server.on('GET', places[0], html('<h1>Maintenance</h1>'));
    const again = await restarted();
    expect(await refused(again.ask({ interaction: 'never' }))).toMatchObject({
      reason: 'authorization_server_unreachable',
    });
    expect(again.signIn().state).toEqual({ kind: 'active' });
    expect(tokenRequests(authorizationServer, 'refresh_token')).toEqual([]);
    expect(['metadata_invalid', 'authorization_server_unreachable']).toContain(
      (await refused(again.login())).reason,
    );
    expect(again.pages).toEqual([]);
  });
});

it.each([
  ['from metadata', {}],
  ['from the default endpoints', withoutMetadata],
])(
  'B-3: after a restart, an earlier revision’s sign-in %s refreshes at its issuer',
  async (_what, options) => {
    const { rig, restarted, authorizationServer } = await earlier(options);
    const first = await rig.ask();
    const again = await restarted();
    const next = await again.ask({ interaction: 'never' });
    expect(next.accessToken).not.toBe(first.accessToken);
    expect(authorizationServer.counts).toMatchObject({ refreshes: 1, registrations: 1 });
    const last = authorizationServer.server.asked(places[0]).at(-1);
    expect(last?.headers[header]).toBe('2025-03-26');
  },
);

describe('the scopes of a sign-in', () => {
  const offered = { scopesSupported: ['from-server', 'other'] } as const;

  it('E-8: takes scopes from the challenge first in the earlier revision too', async () => {
    const { rig } = await earlier({ authorization: offered, protection: { scopes: ['challenged'] } });
    await rig.ask();
    expect(scopeOf(rig.pages[0])).toEqual(['challenged']);
  });

  it('B-20 E-8 S-1 S-2: takes no scopes from the server’s own scopes_supported', async () => {
    const { rig } = await ground({ authorization: offered, protection: { scopes: [] } });
    await rig.ask();
    expect(scopeOf(rig.pages[0])).toBeUndefined();
  });
});
