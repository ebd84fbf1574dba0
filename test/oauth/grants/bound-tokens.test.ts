/** Tokens that are bound to a DPoP key (RFC 9449) at the token endpoint: proofs, nonces, and answers that don't fit. */
import { createHash, createPublicKey, verify, type JsonWebKey } from 'node:crypto';
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { Unreachable } from '../../../src/base/errors.ts';
import { dpopJwkSchema, DpopKey } from '../../../src/oauth/client/dpop-key.ts';
import { buildAuthorizationRequest } from '../../../src/oauth/grants/authorization.ts';
import { registrationAt, serverAt } from '../parties.ts';
import { refusalOf } from '../refusal.ts';
import { now, siteOfFile, type Asked, type Page } from '../site.ts';
import { jwt, resource, tokenRequests } from '../token-requests.ts';

const site = await siteOfFile();
const { refreshed } = tokenRequests(site);

const good = { access_token: 'acc3ss', token_type: 'DPoP', expires_in: 60 };
const wantsNonce = (nonce: string): Page => ({
  status: 400,
  headers: { 'dpop-nonce': nonce },
  body: { error: 'use_dpop_nonce' },
});

let dpopKey = DpopKey.create();
beforeEach(() => {
  dpopKey = DpopKey.create();
});

/** The parts of a proof, whose signature is that of the key in it. */
function read(proof: unknown) {
  const [header = '', claims = '', signature = ''] = String(proof).split('.');
  const parsed = { header: decoded(header) as { jwk: JsonWebKey }, claims: decoded(claims) };
  const key = createPublicKey({ key: parsed.header.jwk, format: 'jwk' });
  const isSigned = verify(
    'sha256',
    Buffer.from(`${header}.${claims}`),
    { key, dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  expect(isSigned).toBe(true);
  return parsed;
}

const decoded = (part: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(part, 'base64url').toString());

const proofs = () => site.asked.map(({ headers }: Asked) => read(headers['dpop']).claims);

describe('a proof', () => {
  it('P-7: names method, URL and time of its request, and holds no private key', async () => {
    site.lay('/token', { body: good });
    expect(await refreshed({ dpopKey })).toMatchObject({ tokenType: 'DPoP', dpopKey });
    const { header, claims } = read(site.asked[0]?.headers['dpop']);
    expect(header).toMatchObject({ typ: 'dpop+jwt', alg: 'ES256', jwk: { kty: 'EC', crv: 'P-256' } });
    expect(header.jwk).not.toHaveProperty('d');
    expect(claims).toEqual({
      jti: expect.stringMatching(/^[\w-]{22}$/),
      htm: 'POST',
      htu: `${site.origin}/token`,
      iat: now / 1000,
    });
  });

  it('P-7: for an MCP server names token, nonce and URL without its query', async () => {
    const url = new URL('https://server.example/mcp?q=1#x');
    const proof = dpopKey.proof({ method: 'GET', url, accessToken: 'acc3ss', nonce: 'n1', time: now + 999 });
    expect(read(proof).claims).toMatchObject({
      htm: 'GET',
      htu: 'https://server.example/mcp',
      ath: createHash('sha256').update('acc3ss').digest('base64url'),
      nonce: 'n1',
      iat: now / 1000,
    });
  });

  it('comes from a key that no print shows, and that its vault form restores', () => {
    const jwk = dpopJwkSchema.parse(JSON.parse(JSON.stringify(dpopKey.toKept())));
    expect(inspect(dpopKey, { depth: 9, showHidden: true }) + JSON.stringify(dpopKey)).not.toContain(jwk.d);
    expect(new DpopKey(jwk).thumbprint).toBe(dpopKey.thumbprint);
  });

  it('P-5: is announced in the authorization request by the thumbprint of its key', async () => {
    const server = serverAt(site.origin);
    const registration = registrationAt(site.origin);
    const { url } = await buildAuthorizationRequest({ server, registration, resource, dpopKey });
    expect(new URL(url).searchParams.getAll('dpop_jkt')).toEqual([dpopKey.thumbprint]);
  });
});

describe('the nonce of an authorization server', () => {
  it('P-8: is used in one more request, and kept for the next one', async () => {
    site.lay('/token', (asked) =>
      read(asked.headers['dpop']).claims['nonce'] === undefined
        ? wantsNonce('n1')
        : { headers: { 'dpop-nonce': 'n2' }, body: good },
    );
    await refreshed({ dpopKey });
    await refreshed({ dpopKey });
    expect(proofs().map(({ nonce }) => nonce)).toEqual([undefined, 'n1', 'n2']);
    expect(new Set(proofs().map(({ jti }) => jti)).size).toBe(3);
  });

  it.each([
    ['another one each time', (count: number) => wantsNonce(`n${count}`), 2],
    ['one that no header may hold', () => wantsNonce('a b'), 1],
    ['none', (): Page => ({ status: 400, body: { error: 'use_dpop_nonce' } }), 1],
  ])(
    'P-8: ends nothing where the server asks for %s, and sets off no loop',
    async (_what, answer, requests) => {
      let count = 0;
      site.lay('/token', () => answer((count += 1)));
      expect(await refusalOf(() => refreshed({ dpopKey }))).toBeInstanceOf(Unreachable);
      expect(site.asked).toHaveLength(requests);
    },
  );
});

it.each([
  ['a Bearer token', { ...good, token_type: 'Bearer' }],
  ['a token of another key', { ...good, access_token: jwt({ cnf: { jkt: 'A'.repeat(43) } }) }],
])('P-9: an answer with %s is refused, and a rotated refresh token kept', async (_what, body) => {
  site.lay('/token', { body: { ...body, refresh_token: 'n3xt' } });
  const kept: string[] = [];
  const refusal = await refusalOf(() => refreshed({ dpopKey, onRotation: (token) => void kept.push(token) }));
  expect(refusal).toMatchObject({ reason: 'token_invalid', rule: expect.stringContaining('RFC 9449') });
  expect(kept).toEqual(['n3xt']);
});

it('P-9: a JWT that names our key, or no key, is accepted', async () => {
  for (const claims of [{ cnf: { jkt: dpopKey.thumbprint } }, {}]) {
    site.lay('/token', { body: { ...good, access_token: jwt(claims) } });
    expect(await refreshed({ dpopKey })).toMatchObject({ tokenType: 'DPoP' });
  }
});
