/** Metadata that no client should swallow: too long, endless, from elsewhere, not JSON at all. */
import { describe, expect, it } from 'vitest';
import { cutOff, endless, html, json, redirectTo } from '../support/bent/server.ts';
import type { Answer } from '../support/bent/server.ts';
import { ground, refused } from './ground.ts';

const documents = {
  'the MCP server': '/.well-known/oauth-protected-resource/mcp',
  'the authorization server': '/.well-known/oauth-authorization-server',
} as const;

const owners = ['the MCP server', 'the authorization server'] as const;

/** Bytes; the bound is 256 KiB. */
const tenMegabytes = 10 * 1024 * 1024;

const invalid: readonly (readonly [string, Answer])[] = [
  ['ten megabytes long', json({ filler: 'x'.repeat(tenMegabytes) })],
  ['without end', endless()],
  ['a tower of lists', { headers: jsonType(), body: `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}` }],
  ['a list', json(['https://issuer.example'])],
  ['cut in the middle of its text', { headers: jsonType(), body: '{"issuer":' }],
  ['a web page with status 200', html('<h1>Welcome</h1>')],
  ['JSON that is called a web page', { headers: { 'content-type': 'text/html' }, body: '{}' }],
  ['not UTF-8', { headers: jsonType(), body: Buffer.from([0x7b, 0xff, 0xfe, 0x7d]) }],
  ['empty', { status: 204 }],
];

function jsonType(): { readonly 'content-type': string } {
  return { 'content-type': 'application/json' };
}

describe.each(owners)('metadata of %s', (owner) => {
  const world = async (options: Parameters<typeof ground>[0] = {}) => {
    const all = await ground(options);
    const { server } = owner === 'the MCP server' ? all.protectedServer : all.authorizationServer;
    return {
      ...all,
      answer: (answer: Answer | (() => Answer)) => server.on('GET', documents[owner], answer),
    };
  };
  const unreachable =
    owner === 'the MCP server' ? 'mcp_server_unreachable' : 'authorization_server_unreachable';

  it.each(invalid)('M-6: refuses metadata that is %s', async (what, answer) => {
    const { rig, answer: lay, authorizationServer } = await world();
    lay(answer);
    const isOutage = what === 'a web page with status 200' && owner !== 'the MCP server';
    expect(await refused(rig.ask())).toMatchObject({ reason: isOutage ? unreachable : 'metadata_invalid' });
    expect(rig.pages).toEqual([]);
    expect(authorizationServer.counts.registrations).toBe(0);
  });

  it.each([
    ['breaks off', cutOff()],
    ['never comes', 'destroy'],
    ['is answered with 503', { status: 503 }],
  ] as const)('metadata counts as unreachable when it %s', async (_what, answer) => {
    const { rig, answer: lay } = await world();
    lay(answer);
    expect(await refused(rig.ask())).toMatchObject({ reason: unreachable });
  });

  it.each(['another origin', 'plain http'] as const)(
    'M-6: is not followed to %s, even if there is good metadata there',
    async (where) => {
      const { rig, world: bent, answer: lay } = await world();
      const other = await bent.openServer({ plain: true });
      const at = where === 'plain http' ? other.plainOrigin : other.origin;
      lay(redirectTo(`${at}/document`));
      expect(await refused(rig.ask())).toMatchObject({ reason: 'metadata_invalid' });
      expect(other.requests).toEqual([]);
    },
  );
});

describe('the endpoints that metadata names', () => {
  const names = [
    'authorization_endpoint',
    'token_endpoint',
    'registration_endpoint',
    'revocation_endpoint',
    'device_authorization_endpoint',
  ];

  it.each(
    names.flatMap((name) =>
      [
        'http://issuer.example/x',
        'javascript:alert(1)',
        'file:///etc/passwd',
        'data:text/html,x',
        '/relative',
      ].map((url) => [name, url] as const),
    ),
  )('M-5 X-3: the endpoints that metadata names are https only: %s may not be %s', async (name, url) => {
    const { rig, authorizationServer } = await ground();
    authorizationServer.bend.metadata = (document) => ({ ...document, [name]: url });
    expect(await refused(rig.ask())).toMatchObject({ reason: 'insecure_url' });
    expect(rig.pages).toEqual([]);
    expect(authorizationServer.counts.registrations).toBe(0);
  });
});
