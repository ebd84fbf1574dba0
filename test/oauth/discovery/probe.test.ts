/** Asking an MCP server without a token. */
import { describe, expect, it } from 'vitest';
import { probe as placed } from '../../../src/oauth/discovery/probe.ts';
import { refusalOf } from '../refusal.ts';
import { deadOrigin, siteOfFile, type Page } from '../site.ts';

const site = await siteOfFile();
const endpoint = `${site.origin}/mcp`;

/** What it found, without where. */
async function probe(...asked: Parameters<typeof placed>) {
  const { at: _at, isPosted: _isPosted, ...found } = await placed(...asked);
  return found;
}

describe('probe', () => {
  const challenge = { 'www-authenticate': 'Bearer scope="a"' };

  it('F-5: finds the challenge by GET, without a body and without authorization', async () => {
    site.lay('/mcp', { status: 401, headers: challenge });
    expect(await probe(endpoint, site.http)).toEqual({ status: 401, challenge: { scope: ['a'] } });
    expect(site.asked).toMatchObject([{ method: 'GET', body: '' }]);
    expect(site.asked[0]?.headers).not.toHaveProperty('authorization');
  });

  it.each<[string, Page]>([
    ['is not supported', { status: 405 }],
    ['needs no authorization', { body: '<html>' }],
    ['fails', { status: 503 }],
  ])('sends one POST, without credentials, if GET %s', async (_what, page) => {
    site.lay('/mcp', ({ method }) => (method === 'GET' ? page : { status: 401, headers: challenge }));
    expect(await probe(endpoint, site.http)).toEqual({ status: 401, challenge: { scope: ['a'] } });
    const posts = site.asked.filter(({ method }) => method === 'POST');
    expect(posts).toMatchObject([{ body: expect.stringContaining('"initialize"') }]);
    expect(posts[0]?.headers).not.toHaveProperty('authorization');
  });

  it('ends the session that an open server begins', async () => {
    site.lay('/mcp', ({ method }) =>
      method === 'POST' ? { headers: { 'mcp-session-id': 's1' }, body: {} } : { status: 405 },
    );
    expect(await probe(endpoint, site.http)).toEqual({ status: 200 });
    const { method, headers } = site.asked.find((one) => one.method === 'DELETE') ?? {};
    expect([method, headers?.['mcp-session-id']]).toEqual(['DELETE', 's1']);
  });

  it.each([200, 404])('reads no challenge of a %i', async (status) => {
    site.lay('/mcp', { status, headers: challenge });
    expect(await probe(endpoint, site.http)).toEqual({ status });
  });

  it('does not wait for the end of a stream', async () => {
    site.lay('/mcp', { headers: { 'content-type': 'text/event-stream' }, body: ':\n\n', hangs: true });
    expect(await probe(endpoint, site.http)).toEqual({ status: 200 });
  });

  it('repeats a POST only after a redirect that keeps the method', async () => {
    const redirecting = (status: number): void => {
      site.clear();
      site.lay('/mcp', { status, headers: { location: '/mcp/' } });
      site.lay('/mcp/', ({ method }) =>
        method === 'GET' ? { status: 405 } : { status: 401, headers: challenge },
      );
    };
    redirecting(307);
    expect(await probe(endpoint, site.http)).toEqual({ status: 401, challenge: { scope: ['a'] } });
    redirecting(302);
    expect(await probe(endpoint, site.http)).toEqual({ status: 302 });
    expect(site.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'GET /mcp',
      'GET /mcp/',
      'POST /mcp',
      'GET /mcp/',
    ]);
  });

  it('follows no redirect to another origin, and at most three', async () => {
    site.lay('/mcp', { status: 307, headers: { location: 'https://127.0.0.1:1/mcp' } });
    expect(await probe(endpoint, site.http)).toEqual({ status: 307 });
    expect(site.asked).toHaveLength(3);
    site.lay('/mcp', { status: 307, headers: { location: '/mcp' } });
    expect(await probe(endpoint, site.http)).toEqual({ status: 307 });
    // Four by GET, four by POST, and one to the other spelling.
    expect(site.asked).toHaveLength(3 + 9);
  });

  it('a page that a redirect leads to does not count as the endpoint', async () => {
    const location = '/sign-in';
    site.lay('/mcp', { status: 302, headers: { ...challenge, location } });
    site.lay(location, { body: '<html>' });
    expect(await probe(endpoint, site.http)).toEqual({ status: 302 });
    // Unless a challenge beside it names the metadata, as that of Cloudflare Access does.
    const named = {
      location,
      'www-authenticate': 'Cloudflare-Access resource_metadata="https://a.example/m"',
    };
    site.lay('/mcp', { status: 302, headers: named });
    const found = { status: 401, challenge: { resourceMetadata: 'https://a.example/m' } };
    expect(await probe(endpoint, site.http)).toEqual(found);
  });

  it('tries the other spelling of a final slash if no authorization is asked for', async () => {
    const found = { status: 401, challenge: { scope: ['a'] } };
    site.lay('/mcp/', { status: 401, headers: challenge });
    expect(await placed(endpoint, site.http)).toMatchObject({ at: `${endpoint}/`, ...found });
    site.clear();
    site.lay('/mcp', { status: 401, headers: challenge });
    expect(await placed(`${endpoint}/`, site.http)).toMatchObject({ at: endpoint, ...found });
    site.clear();
    site.lay('/mcp', { body: 'open' });
    site.lay('/mcp/', { status: 500 });
    expect(await placed(endpoint, site.http)).toMatchObject({ at: endpoint, status: 200 });
    site.clear();
    expect(await placed(`${site.origin}/`, site.http)).toMatchObject({ status: 404 });
    expect(site.asked.map(({ path }) => path)).toEqual(['/', '/']);
  });

  it('a server that fails or does not answer is unreachable', async () => {
    site.lay('/mcp', { status: 502 });
    expect((await refusalOf(() => probe(endpoint, site.http))).reason).toBe('mcp_server_unreachable');
    const dead = await deadOrigin();
    expect((await refusalOf(() => probe(dead, site.http))).reason).toBe('mcp_server_unreachable');
  });
});
