/** What the protected server refuses in a signed token: one change each to a token that passes. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { describe, expect, it } from 'vitest';
import { signatureVerifier } from '../../demo/servers/token-verifier.ts';

const issuer = 'https://issuer.example';
const resource = 'https://resource.example/mcp';
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k' }] };
const verifier = signatureVerifier({ issuer, jwksUri: `${issuer}/jwks` }, async () => Response.json(keys))(
  resource,
);

const header = { alg: 'ES256', kid: 'k', typ: 'at+jwt' };
/** Far from any clock that a test could run under. */
const future = 9_999_999_999;
const payload = {
  iss: issuer,
  aud: resource,
  client_id: 'c',
  sub: 'alice',
  scope: 'notes:read',
  exp: future,
};

function signed(head: object, body: object, key: KeyObject = privateKey): string {
  const [first, second] = [head, body].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const input = `${first}.${second}`;
  const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
  return `${input}.${signature.toString('base64url')}`;
}

describe('a signed token', () => {
  it('passes with this resource among its audiences', async () => {
    const token = signed(header, { ...payload, aud: ['https://other.example', resource] });
    expect(await verifier.verifyAccessToken(token)).toMatchObject({
      clientId: 'c',
      scopes: ['notes:read'],
      expiresAt: future,
      extra: { sub: 'alice' },
    });
  });

  it.each([
    ['another audience', signed(header, { ...payload, aud: 'https://other.example' })],
    ['an audience with a slash more', signed(header, { ...payload, aud: `${resource}/` })],
    ['no audience', signed(header, { ...payload, aud: undefined })],
    ['another issuer', signed(header, { ...payload, iss: `${issuer}/` })],
    ['an expiry in the past', signed(header, { ...payload, exp: 1 })],
    ['no expiry', signed(header, { ...payload, exp: undefined })],
    ["a stranger's signature", signed(header, payload, stranger)],
    ['an unknown key', signed({ ...header, kid: 'other' }, payload)],
    ['another algorithm', signed({ ...header, alg: 'none' }, payload)],
    ['the type of an ID token', signed({ ...header, typ: 'JWT' }, payload)],
    ['no signature', signed(header, payload).replace(/[^.]*$/, '')],
    ['no dots at all', 'opaque'],
  ])('with %s is refused', async (_what, token) => {
    await expect(verifier.verifyAccessToken(token)).rejects.toBeInstanceOf(InvalidTokenError);
  });
});
