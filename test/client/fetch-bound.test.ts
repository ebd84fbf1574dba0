/** The fetch that authorizes itself, with tokens that are bound to a DPoP key of the broker (RFC 9449). */
import { describe, expect, test } from 'vitest';
import { bearers, methodsOf, startFetch, startHttp, type Reply, type Seen } from './fetch-rig.ts';

const bound = { tokens: [{ token_type: 'DPoP' }, { token_type: 'DPoP' }, { token_type: 'DPoP' }] };

const wantsNonce = (nonce: string): Reply => [
  401,
  { 'www-authenticate': 'DPoP error="use_dpop_nonce"', 'dpop-nonce': nonce },
];

/** The requests that the proofs are for, as the scripted broker writes them. */
const provenIn = (seen: readonly Seen[]): unknown[] =>
  seen.map(({ dpop = '' }) => JSON.parse(Buffer.from(dpop.split('.')[0] ?? '', 'base64url').toString()));

describe('a bound token', () => {
  test('P-7: has a proof for the method and URL of each request, redirects included', async () => {
    const { origin, seen } = await startHttp(({ request }) =>
      request.endsWith('/old?x=1') ? [307, { location: '/api/new' }] : [200],
    );
    const { authorized, resource } = await startFetch(origin, {}, bound);
    const headers = { dpop: 'another', authorization: 'Bearer old' };
    await authorized(`${resource}/old?x=1`, { method: 'POST', body: 'b', headers });
    expect(bearers(seen)).toEqual(['DPoP secret-1', 'DPoP secret-1']);
    expect(provenIn(seen)).toEqual([
      { method: 'POST', url: `${origin}/api/old` },
      { method: 'POST', url: `${origin}/api/new` },
    ]);
  });

  test('P-8: is resent once with the server’s nonce, and later requests use the newest', async () => {
    const { origin, seen } = await startHttp((_seen, count) =>
      count === 1 ? wantsNonce('n1') : [200, { 'dpop-nonce': `n${count}` }],
    );
    const { authorized, calls, resource } = await startFetch(origin, {}, bound);
    for (let count = 0; count < 2; count += 1)
      expect((await authorized(resource, { method: 'POST', body: 'b' })).status).toBe(200);
    expect(seen.map(({ body }) => body)).toEqual(['b', 'b', 'b']);
    expect(provenIn(seen)).toMatchObject([{}, { nonce: 'n1' }, { nonce: 'n2' }]);
    expect(methodsOf(calls)).not.toContain('token.reject');
  });

  test.each<[string, (count: number) => Reply, number]>([
    ['another nonce each time', (count) => wantsNonce(`n${count}`), 2],
    ['the same nonce each time', () => wantsNonce('n'), 2],
    ['a nonce that no header may hold', () => wantsNonce('a b'), 1],
    ['another proof', () => [401, { 'www-authenticate': 'DPoP error="invalid_dpop_proof"' }], 1],
  ])('P-8: is not replaced, and there is no loop, where the server wants %s', async (_what, reply, sent) => {
    const { origin, seen } = await startHttp((_seen, count) => reply(count));
    const { authorized, calls, resource } = await startFetch(origin, {}, bound);
    expect((await authorized(resource)).status).toBe(401);
    expect(seen).toHaveLength(sent);
    expect(methodsOf(calls)).not.toContain('token.reject');
  });

  test('that the server refuses is replaced like any other', async () => {
    const { origin, seen } = await startHttp(({ authorization }) =>
      authorization === 'DPoP secret-1' ? [401, { 'www-authenticate': 'DPoP error="invalid_token"' }] : [200],
    );
    const { authorized, resource } = await startFetch(origin, {}, bound);
    expect((await authorized(resource)).status).toBe(200);
    expect(bearers(seen)).toEqual(['DPoP secret-1', 'DPoP secret-2']);
  });

  test('that the broker no longer has is asked for again, once', async () => {
    const { origin, seen } = await startHttp();
    const gone = { tokens: [{ token_type: 'DPoP', tokenId: 'gone' }] };
    const { authorized, calls, resource } = await startFetch(origin, {}, gone);
    await expect(authorized(resource)).rejects.toMatchObject({ reason: 'not_found' });
    expect(methodsOf(calls)).toEqual(['token.get', 'token.prove', 'token.get', 'token.prove']);
    expect(seen).toEqual([]);
  });
});
