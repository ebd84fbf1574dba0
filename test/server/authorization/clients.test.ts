/** Clients that the operator didn't enter: registered ones, and those with a metadata document. */
import { createServer } from 'node:https';
import type { ServerResponse } from 'node:http';
import { generateKeyPair, exportJWK, SignJWT, type CryptoKey } from 'jose';
import { afterAll, describe, expect, it } from 'vitest';
import { throwAwayCertificates } from '../../../src/serve/certificate.ts';
import { developmentLogin } from '../../../src/server/authorization/index.ts';
import {
  answerTo,
  authorizationOf,
  claimsOf,
  notes,
  redirectUri,
  register,
  signIn,
  startServer,
  tokenFor,
} from './rig.ts';
import { ofFile, ofTest } from '../../support/lasting.ts';
import { portOf } from '../../support/servers/loopback-server.ts';
import { freePort } from '../../support/servers/port.ts';

/** What the host of documents answers, by path. */
const documents = new Map<string, (response: ServerResponse) => unknown>();
const json = { 'content-type': 'application/json' };
const fetched: string[] = [];
const { key: tlsKey, cert, ca: authorities } = await throwAwayCertificates();
const host = createServer({ key: tlsKey, cert }, (request, response) => {
  fetched.push(request.url ?? '');
  const answer = documents.get(request.url ?? '');
  if (answer) answer(response);
  else response.writeHead(404).end();
});
const origin = `https://127.0.0.1:${await portOf(host, afterAll)}`;
const unusedPort = await freePort();
const rig = ofFile(async () => startServer({ authorities }));

/** Publishes a document at this path; answers its URL, which is the client's id. */
function publish(
  path: string,
  changes: Readonly<Record<string, unknown>> = {},
  headers: Record<string, string> = {},
): string {
  const url = origin + path;
  const document = {
    client_id: url,
    client_name: 'Published',
    redirect_uris: ['http://127.0.0.1/callback'],
    ...changes,
  };
  documents.set(path, (response) => {
    response.writeHead(200, { ...json, ...headers }).end(JSON.stringify(document));
  });
  return url;
}

describe('a client ID metadata document', () => {
  it('AS-11: makes its client known, with any port of a loopback redirect without one', async () => {
    const clientId = publish('/good.json', { grant_types: ['authorization_code', 'implicit'] });
    const { status, body } = await signIn(rig, { client_id: clientId });
    expect(status).toBe(200);
    expect(claimsOf(body['access_token'])).toMatchObject({ client_id: clientId, aud: notes });
  });

  it('AS-11: is fetched once while its cache headers let it be kept', async () => {
    const clientId = publish('/kept.json', {}, { 'cache-control': 'max-age=600' });
    const { url } = authorizationOf(rig, { client_id: clientId });
    await rig.request(url);
    await rig.request(url);
    expect(fetched.filter((path) => path === '/kept.json')).toHaveLength(1);
  });

  it.each<[string, string, Record<string, unknown>]>([
    ['names another client_id', '/lie.json', { client_id: 'https://127.0.0.1/other.json' }],
    ['has no redirect_uris', '/redirectless.json', { redirect_uris: undefined }],
    ['lists plain http elsewhere', '/http.json', { redirect_uris: ['http://evil.example/callback'] }],
    ['holds a secret', '/secret.json', { client_secret: 'x'.repeat(43) }],
    ['wants a shared secret', '/method.json', { token_endpoint_auth_method: 'client_secret_basic' }],
  ])('AS-12 AS-13: that %s is refused on a page, with no redirect', async (_what, path, changes) => {
    const clientId = publish(path, changes);
    const answer = await rig.request(authorizationOf(rig, { client_id: clientId }).url);
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
    expect(await answer.text()).toMatch(/invalid_client|invalid_redirect_uri/);
    expect(fetched).toContain(path);
  });

  it.each<[string, string, ((to: ServerResponse) => unknown) | undefined]>([
    ['redirects', '/moved.json', (to) => to.writeHead(302, { location: `${origin}/target.json` }).end()],
    ['is sent as a page', '/page.json', (to) => to.writeHead(200, { 'content-type': 'text/html' }).end('{}')],
    ['is longer than the bound', '/huge.json', undefined],
  ])('AS-13 AS-15: that %s is refused', async (_what, path, answer) => {
    if (answer) documents.set(path, answer);
    else publish(path, { client_uri: `https://app.example/${'x'.repeat(20_000)}` });
    const refused = await rig.request(authorizationOf(rig, { client_id: origin + path }).url);
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain('invalid_client');
    expect(fetched).not.toContain('/target.json');
  });

  it.each([
    ['refuses the connection', `https://127.0.0.1:${unusedPort}/app.json`, 'ECONNREFUSED'],
    ['is none', `${origin}/absent.json`, 'unexpected response status 404'],
    ['is private', 'https://169.254.169.254/x', '"169.254.169.254" has an address that is not public.'],
    ['is private, too,', 'https://[fd00::1]/x', '"fd00::1" has an address that is not public.'],
  ])('AS-15: whose place %s is an event with its URL and the problem', async (_what, clientId, problem) => {
    expect(await answerTo(rig, { client_id: clientId })).toEqual([400, null]);
    expect(rig.events).toContainEqual({ kind: 'refused', clientId, error: 'invalid_client', problem });
  });

  it('whose host has an unknown authority is an event with the problem', async () => {
    const strict = await ofTest(startServer({ authorities: '' }));
    const clientId = publish('/unknown-authority.json');
    await answerTo(strict, { client_id: clientId });
    expect(strict.events).toMatchObject([{ clientId, problem: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }]);
  });

  it('AS-14: must list the redirect URI of the request', async () => {
    const clientId = publish('/narrow.json', { redirect_uris: ['https://app.example/callback'] });
    expect(await answerTo(rig, { client_id: clientId })).toEqual([400, null]);
  });

  it.each([
    ['none', 'none' as const],
    ['other hosts only', ['apps.example'] as const],
  ])('AS-16: is not fetched where the operator trusts %s', async (_what, clientDocuments) => {
    const strict = await ofTest(startServer({ clientDocuments, authorities }));
    const clientId = publish('/untrusted.json');
    const answer = await strict.request(authorizationOf(strict, { client_id: clientId }).url);
    expect(answer.status).toBe(400);
    expect(fetched).not.toContain('/untrusted.json');
  });
});

describe('dynamic registration', () => {
  it('AS-19: gives a public client no secret, and a client without a method a secret', async () => {
    const asked = { redirect_uris: [redirectUri], client_name: 'Registered' };
    const { status, body } = await register(rig, { ...asked, token_endpoint_auth_method: 'none' });
    expect(status).toBe(201);
    expect(body).toMatchObject({ token_endpoint_auth_method: 'none', application_type: 'native' });
    expect(body).not.toHaveProperty('client_secret');
    // RFC 7591 §2: the default is client_secret_basic.
    expect((await register(rig, asked)).body).toHaveProperty('client_secret');
    expect((await signIn(rig, { client_id: String(body['client_id']) })).status).toBe(200);
  });

  it.each([
    ['http://evil.example/callback'],
    ['javascript:alert(1)'],
    ['com.example.app:/callback'],
    undefined,
  ])('AS-7: refuses the redirect URIs %j', async (redirect_uris) => {
    const { status, body } = await register(rig, { redirect_uris });
    expect([status, body['error']]).toEqual([400, 'invalid_redirect_uri']);
  });

  const held = 'private-part-of-the-key';
  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['of an elliptic curve', { kty: 'EC', crv: 'P-256', x: 'eA', y: 'eQ', d: held }],
    ['of a kind that it does not know', { kty: 'NEW', x: 'eA', d: held }],
    ['that is symmetric', { kty: 'oct', k: held }],
  ])('AS-19: refuses a registration with a private key %s', async (_what, key) => {
    const { status, body } = await register(rig, {
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [key] },
    });
    expect([status, body['error']]).toEqual([400, 'invalid_client_metadata']);
    expect(JSON.stringify(body)).not.toContain(held);
  });

  it('AS-19: keeps what it can of what real clients send, and says what it registered', async () => {
    const asked = {
      client_name: 'n'.repeat(150),
      redirect_uris: [redirectUri, 'cursor://anysphere.cursor-mcp/oauth/callback', redirectUri],
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      response_types: ['code', 'token'],
      token_endpoint_auth_method: 'client_secret_jwt',
      application_type: 'web',
      id_token_signed_response_alg: 'RS256',
      subject_type: 'pairwise',
      scope: '',
      client_uri: null,
      logo_uri: 'icons/app.png',
      contacts: [],
      jwks: null,
      software_id: 'x',
    };
    const { status, body } = await register(rig, asked);
    expect([status, body]).toMatchObject([
      201,
      {
        client_name: 'n'.repeat(100),
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ]);
    expect(body).not.toHaveProperty('logo_uri');
  });

  it('AS-19: lets a client manage its own registration, with its own token only', async () => {
    const mine = (await register(rig, { redirect_uris: [redirectUri], client_name: 'Mine' })).body;
    const other = (await register(rig, { redirect_uris: [redirectUri], client_name: 'Other' })).body;
    const at = String(mine['registration_client_uri']);
    const as = (client: Readonly<Record<string, unknown>>) => ({
      authorization: `Bearer ${String(client['registration_access_token'])}`,
    });
    expect((await rig.request(at, { headers: as(mine) })).status).toBe(200);
    expect((await rig.request(at, { headers: as(other) })).status).toBe(401);
    expect((await rig.request(at, { method: 'DELETE', headers: as(mine) })).status).toBe(204);
    expect(await answerTo(rig, { client_id: String(mine['client_id']) })).toEqual([400, null]);
  });

  it('is not offered where it is off, and needs the token where the operator set one', async () => {
    const initialAccessToken = 'i'.repeat(43);
    const closed = await ofTest(startServer({ registration: 'off' }));
    const guarded = await ofTest(startServer({ registration: { initialAccessToken } }));
    const metadata = await closed.request('/.well-known/oauth-authorization-server');
    expect(await metadata.json()).not.toHaveProperty('registration_endpoint');
    const body = { redirect_uris: [redirectUri] };
    expect((await register(guarded, body)).status).toBe(401);
    const authorization = `Bearer ${initialAccessToken}`;
    expect((await register(guarded, body, { authorization })).status).toBe(201);
  });
});

const own = await generateKeyPair('ES256', { extractable: true });

describe('a machine client', () => {
  const machines = ofFile(async () => {
    const jwk = { ...(await exportJWK(own.publicKey)), kid: 'machine', alg: 'ES256', use: 'sig' };
    const limits = { scopes: ['notes:read'] };
    const machine = { keys: [jwk], isMachine: true, ...limits };
    const clients = ['robot', 'robo'].map((clientId) => ({ clientId, ...machine }));
    const limited = { clientId: 'limited', redirectUris: [redirectUri], ...limits };
    return startServer({ clients: [...clients, limited], accounts: developmentLogin(['alice', 'robot']) });
  });

  const assertionBy = async (key: CryptoKey, changes: object = {}): Promise<string> =>
    new SignJWT({ iss: 'robot', sub: 'robot', aud: machines.issuer, jti: crypto.randomUUID(), ...changes })
      .setProtectedHeader({ alg: 'ES256', kid: 'machine' })
      .setIssuedAt()
      .setExpirationTime('1m')
      .sign(key);

  async function ask(assertion: string, asked: { readonly scope?: string | undefined } = {}) {
    return tokenFor(machines, {
      grant_type: 'client_credentials',
      client_id: 'robot',
      resource: notes,
      scope: 'notes:read',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
      ...asked,
    });
  }

  it('AS-20: gets a token by private_key_jwt, and none by a used or foreign assertion', async () => {
    const foreign = await generateKeyPair('ES256');
    const { issuer } = machines;
    const good = await assertionBy(own.privateKey);
    const { status, body } = await ask(good);
    expect(status).toBe(200);
    expect(claimsOf(body['access_token'])).toMatchObject({
      aud: notes,
      client_id: 'robot',
      scope: 'notes:read',
    });
    const unscoped = await ask(await assertionBy(own.privateKey), { scope: undefined });
    expect(unscoped.body['scope']).toBe('notes:read');
    expect((await ask(good)).body['error']).toBe('invalid_client');
    expect((await ask(await assertionBy(foreign.privateKey))).body['error']).toBe('invalid_client');
    const other = 'https://other.example';
    for (const aud of [other, [issuer, other], `${issuer}/other`, issuer.toUpperCase(), [], '']) {
      const answer = await ask(await assertionBy(own.privateKey, { aud }));
      expect([aud, answer.body['error']]).toEqual([aud, 'invalid_client']);
    }
    for (const aud of [[issuer], `${issuer}/token`])
      expect((await ask(await assertionBy(own.privateKey, { aud }))).status).toBe(200);
  });

  it('gets no scope but those that were entered for it, as a client of users does', async () => {
    const asked = async (scope: string) => (await ask(await assertionBy(own.privateKey), { scope })).body;
    expect((await asked('notes:read notes:write'))['scope']).toBe('notes:read');
    expect((await asked('notes:write'))['error']).toBe('invalid_scope');
    const { body } = await signIn(machines, { client_id: 'limited', scope: 'notes:read notes:write' });
    expect(body['scope']).toBe('notes:read');
  });

  it('shares its id, the subject of its tokens, with no account', async () => {
    const { body } = await ask(await assertionBy(own.privateKey));
    expect(claimsOf(body['access_token'])['sub']).toBe('robot');
    const browser = machines.browser();
    const { url } = authorizationOf(machines, { client_id: 'limited' });
    await browser.submit(await browser.open(url), { login: 'robot' });
    expect(new URL(browser.sentTo).searchParams.get('error')).toBe('access_denied');
    expect(machines.events.at(-1)?.problem).toMatch(/id of a machine client/);
  });
});
