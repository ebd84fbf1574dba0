/** Identity assertion grants (ID-JAG): a configured provider's assertion for a token. */
import { createServer } from 'node:https';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { throwAwayCertificates } from '../../../src/serve/certificate.ts';
import { ofFile } from '../../support/lasting.ts';
import { portOf } from '../../support/servers/loopback-server.ts';
import { claimsOf, editor, notes, startServer, tokenFor } from './rig.ts';

const company = 'https://company.example';
const grant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

const { publicKey, privateKey: own } = await generateKeyPair('ES256', { extractable: true });
const { privateKey: foreign } = await generateKeyPair('ES256');
const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'c1', alg: 'ES256', use: 'sig' }] };
const { key: tlsKey, cert, ca: authorities } = await throwAwayCertificates();
const host = createServer({ key: tlsKey, cert }, (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(jwks));
});
const jwksUri = `https://127.0.0.1:${await portOf(host, afterAll)}/keys`;
const accountFor = (subject: string, tenant: string | undefined) =>
  tenant === 'acme' && subject === 'employee-7' ? 'alice' : undefined;
const rig = ofFile(async () =>
  startServer({
    authorities,
    clients: [{ clientId: editor }, { clientId: 'limited', scopes: ['notes:write'] }],
    assertionProviders: [{ issuer: company, jwksUri, accountFor }],
  }),
);

const now = (): number => Math.floor(Date.now() / 1000);

async function assertion(
  changes: Readonly<Record<string, unknown>> = {},
  { key = own, typ = 'oauth-id-jag+jwt' }: { readonly key?: CryptoKey; readonly typ?: string } = {},
): Promise<string> {
  return new SignJWT({
    iss: company,
    sub: 'employee-7',
    tid: 'acme',
    aud: rig.issuer,
    client_id: editor,
    resource: notes,
    scope: 'notes:read',
    jti: crypto.randomUUID(),
    iat: now(),
    exp: now() + 60,
    ...changes,
  })
    .setProtectedHeader({ alg: 'ES256', kid: 'c1', typ })
    .sign(key);
}

const redeem = async (signed: string, more: Record<string, string> = {}) =>
  tokenFor(rig, { grant_type: grant, assertion: signed, client_id: editor, ...more });

describe('an identity assertion', () => {
  it('AS-21: gives a token of its subject for its resource, and no refresh token', async () => {
    const { status, body } = await redeem(await assertion());
    expect(status).toBe(200);
    expect(body).not.toHaveProperty('refresh_token');
    expect(claimsOf(body['access_token'])).toMatchObject({
      sub: 'alice',
      aud: notes,
      client_id: editor,
      scope: 'notes:read',
    });
  });

  it('gives no scope that its client may not have', async () => {
    const client_id = 'limited';
    expect((await redeem(await assertion({ client_id }), { client_id })).body['error']).toBe('invalid_scope');
  });

  it('AS-21: is used once', async () => {
    const signed = await assertion();
    const answers = await Promise.all([redeem(signed), redeem(signed), redeem(signed)]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['another issuer', { iss: 'https://evil.example' }, 'invalid_grant'],
    ['another audience', { aud: 'https://other.example' }, 'invalid_grant'],
    ['two audiences', { aud: ['https://other.example', 'PLACEHOLDER'] }, 'invalid_grant'],
    ['another client', { client_id: 'other' }, 'invalid_grant'],
    ['a resource that is not ours', { resource: 'https://other.example/mcp' }, 'invalid_target'],
    ['an unknown subject', { sub: 'employee-8' }, 'invalid_grant'],
    ['an end in the past', { exp: 1_700_000_000 }, 'invalid_grant'],
    ['a beginning long ago', { iat: 1_700_000_000 }, 'invalid_grant'],
    ['no id', { jti: undefined }, 'invalid_grant'],
  ])('AS-21: that names %s is refused', async (_what, changes, error) => {
    const changed = Array.isArray(changes['aud']) ? { aud: ['https://other.example', rig.issuer] } : changes;
    expect((await redeem(await assertion(changed))).body['error']).toBe(error);
  });

  it('of another key, of another type, or without a signature is refused', async () => {
    const [header, payload] = (await assertion()).split('.');
    const unsigned = `${Buffer.from('{"alg":"none","typ":"oauth-id-jag+jwt"}').toString('base64url')}.${payload}.`;
    expect(header).toBeDefined();
    for (const signed of [
      await assertion({}, { key: foreign }),
      await assertion({}, { typ: 'JWT' }),
      unsigned,
      'x',
    ]) {
      expect((await redeem(signed)).body['error']).toBe('invalid_grant');
    }
  });
});
