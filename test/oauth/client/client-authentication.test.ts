/** How a client proves who it is at a real token endpoint, with keys of every kind. */
import { generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { registrationSchema } from '../../../src/oauth/client/registration.ts';
import type { Registration, SigningAlg } from '../../../src/oauth/client/registration.ts';
import { refresh } from '../../../src/oauth/grants/token.ts';
import { registrationAt, serverAt } from '../parties.ts';
import { everyWordOf, refusalOf } from '../refusal.ts';
import { now, siteOfFile } from '../site.ts';

const site = await siteOfFile();
beforeEach(() => {
  site.lay('/token', { body: { access_token: 't', token_type: 'Bearer' } });
});

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ed = generateKeyPairSync('ed25519');
const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

function request(changes: Partial<Registration>, clientSecret?: string) {
  return refresh(
    {
      server: serverAt(site.origin),
      registration: registrationAt(site.origin, { tokenEndpointAuthMethod: 'private_key_jwt', ...changes }),
      ...(clientSecret === undefined ? {} : { clientSecret }),
      refreshToken: 'refr3sh',
      resource: 'https://server.example/mcp',
      grantedScope: [],
    },
    site.http,
  );
}

const sent = (index = 0) => new URLSearchParams(site.asked[index]?.body);

function assertion(index = 0) {
  const jwt = sent(index).get('client_assertion') ?? '';
  const [header = '', payload = '', signature = ''] = jwt.split('.');
  const read = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString());
  return {
    header: read(header),
    claims: read(payload) as Record<string, unknown>,
    signed: Buffer.from(`${header}.${payload}`),
    signature: Buffer.from(signature, 'base64url'),
  };
}

const pssSalt = { padding: 6, saltLength: 32 };

const basic = async (clientId: string, secret: string): Promise<string> => {
  await request({ clientId, tokenEndpointAuthMethod: 'client_secret_basic' }, secret);
  const header = String(site.asked.at(-1)?.headers['authorization']);
  return Buffer.from(header.replace(/^Basic /, ''), 'base64').toString();
};

it('W-7: client_secret_basic escapes only the characters that a decoder would change, and the colon', async () => {
  const plain = 'aZ09-._~/=!*()$&,;@?#[]{}|^"<>\\`\'';
  expect(await basic('urn:client/1', plain)).toBe(`urn%3Aclient/1:${plain}`);
  expect(await basic('c', 'a%b+c:d e\u00e9\n')).toBe('c:a%25b%2Bc%3Ad%20e%C3%A9%0A');
});

describe('private_key_jwt', () => {
  it.each<[SigningAlg, { privateKey: KeyObject; publicKey: KeyObject }, object, string | null]>([
    ['ES256', ec, { dsaEncoding: 'ieee-p1363' }, 'sha256'],
    ['RS256', rsa, {}, 'sha256'],
    ['PS256', rsa, pssSalt, 'sha256'],
    ['EdDSA', ed, {}, null],
  ])('P-1 R-5: signs with %s, for the issuer and for a minute', async (signingAlg, pair, options, hash) => {
    await request({ signingAlg }, pem(pair.privateKey));
    const { header, claims, signed, signature } = assertion();
    expect(header).toEqual({ alg: signingAlg });
    expect(verify(hash, signed, { key: pair.publicKey, ...options }, signature)).toBe(true);
    expect(claims).toMatchObject({ iss: 'client-1.a_b', sub: 'client-1.a_b', aud: site.origin });
    const seconds = now / 1000;
    expect(claims['exp']).toBeGreaterThanOrEqual(seconds + 59);
    expect(claims['exp']).toBeLessThanOrEqual(seconds + 62);
    expect(sent().get('client_assertion_type')).toBe(
      'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    );
    expect(sent().get('client_id')).toBe('client-1.a_b');
    expect(sent().has('client_secret')).toBe(false);
    expect(site.asked[0]?.headers).not.toHaveProperty('authorization');
  });

  it('accepts a JWK, and names its key id', async () => {
    const jwk = JSON.stringify({ ...ec.privateKey.export({ format: 'jwk' }), kid: 'key-1' });
    await request({ signingAlg: 'ES256' }, jwk);
    expect(assertion().header).toEqual({ alg: 'ES256', kid: 'key-1' });
  });

  it.each([
    ['ES256', ec],
    ['RS256', rsa],
    ['EdDSA', ed],
  ])('signs with %s if the registration names no algorithm', async (alg, pair) => {
    await request({}, pem(pair.privateKey));
    expect(assertion().header).toEqual({ alg });
  });

  it('makes a new assertion for each request', async () => {
    await request({}, pem(ec.privateKey));
    await request({}, pem(ec.privateKey));
    expect(assertion(0).claims['jti']).not.toBe(assertion(1).claims['jti']);
  });

  it.each([
    ['another kind of key', 'ES256', pem(rsa.privateKey)],
    ['another curve', 'ES256', pem(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey)],
    ['a public key', 'ES256', JSON.stringify(ec.publicKey.export({ format: 'jwk' }))],
    ['a broken key', 'ES256', '-----BEGIN PRIVATE KEY-----\nbm90aGluZ3M=\n-----END PRIVATE KEY-----\n'],
    ['no key', 'ES256', undefined],
  ] as const)('R-5: refuses %s before anything is sent', async (_what, signingAlg, key) => {
    const refusal = await refusalOf(() => request(signingAlg === undefined ? {} : { signingAlg }, key));
    expect(refusal.reason).toBe('client_rejected');
    expect(everyWordOf(refusal)).not.toMatch(/s3cretpart|BEGIN|bm90aGluZ3M/);
    expect(site.asked).toEqual([]);
  });

  it('its registration names a signing algorithm; none and HS256 are refused', () => {
    const registration = {
      ...registrationAt(site.origin),
      tokenEndpointAuthMethod: 'private_key_jwt',
      signingAlg: 'ES256',
    };
    expect(registrationSchema.parse(registration)).toEqual(registration);
    expect(registrationSchema.safeParse({ ...registration, signingAlg: 'none' }).success).toBe(false);
    expect(registrationSchema.safeParse({ ...registration, signingAlg: 'HS256' }).success).toBe(false);
  });
});
