/** Client authentication and the grants beside the code, at the bent authorization server. */
import * as client from 'openid-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type AuthMethod,
  type BentClient,
  decodeJwt,
  newSigningKey,
  type SigningKey,
} from '../support/bent/authorization-server.ts';
import { type BentWorld, openBentWorld } from '../support/bent/world.ts';
import { configured, refreshed, signedIn, visited } from './bent-client.ts';

let world: BentWorld;
let resource: string;
beforeEach(async () => {
  world = await openBentWorld();
  resource = world.protectedServer.url;
});
afterEach(async () => world.close());

const server = () => world.authorizationServer;

/** As openid-client signs them, for what it can't be told to do wrong. */
function assertion(key: SigningKey, clientId: string, changes: Record<string, unknown> = {}): string {
  const seconds = Math.floor(Date.now() / 1000);
  const claims = {
    iss: clientId,
    sub: clientId,
    aud: server().issuer,
    exp: seconds + 60,
    jti: 'j',
    ...changes,
  };
  return key.sign({}, claims);
}

async function post(body: Record<string, string>, headers: Record<string, string> = {}) {
  const answer = await world.fetch(`${server().server.origin}/token`, {
    method: 'POST',
    headers,
    body: new URLSearchParams({ grant_type: 'client_credentials', resource, ...body }),
  });
  return {
    status: answer.status,
    body: (await answer.json()) as Record<string, unknown>,
    headers: answer.headers,
  };
}

describe('client authentication', () => {
  it.each<[AuthMethod, (secret: string) => client.ClientAuth]>([
    ['client_secret_basic', client.ClientSecretBasic],
    ['client_secret_post', client.ClientSecretPost],
  ])('by %s needs the right secret in the right place', async (authMethod, authentication) => {
    const added = server().addClient({ authMethod, secret: 'a secret: +&%', clientId: 'id:1' });
    const { tokens } = await signedIn(world, await configured(world, added, authentication('a secret: +&%')));
    expect((await visited(world, tokens.access_token)).status).toBe(200);
    for (const wrong of [authentication('another'), client.None()]) {
      const config = await configured(world, added, wrong);
      await expect(signedIn(world, config)).rejects.toThrow(/invalid_client|www-authenticate|401|error/i);
    }
    expect(server().counts.codesRedeemed).toBe(1);
  });

  it('by private_key_jwt needs the right signature', async () => {
    const { privateKey, publicKey } = await crypto.subtle.generateKey(
      { name: 'ECDSA', namedCurve: 'P-256' },
      true,
      ['sign', 'verify'],
    );
    const jwk = await crypto.subtle.exportKey('jwk', publicKey);
    const added = server().addClient({ authMethod: 'private_key_jwt', jwk: { ...jwk } });
    const flow = await signedIn(world, await configured(world, added, client.PrivateKeyJwt(privateKey)));
    expect((await refreshed(world, flow)).access_token).toBeTypeOf('string');
    expect(server().counts).toMatchObject({ codesRedeemed: 1, refreshes: 1, refusals: 0 });
  });

  it.each([
    ['for another server', { aud: 'https://other.example' }],
    ['for the token endpoint', { aud: 'TOKEN' }],
    ['for two', { aud: ['ISSUER', 'https://other.example'] }],
    ['that has expired', { exp: 1 }],
    ['about another client', { sub: 'other' }],
    ['without an id', { jti: undefined }],
  ])('refuses an assertion %s', async (_what, changes) => {
    const key = newSigningKey();
    const added = server().addClient({ authMethod: 'private_key_jwt', jwk: key.jwk });
    const filled = JSON.stringify(changes)
      .replace('TOKEN', `${server().server.origin}/token`)
      .replace('ISSUER', server().issuer);
    const wrong = { ...changes, ...(JSON.parse(filled) as object) };
    expect(await post(asserted(assertion(key, added.clientId, wrong)))).toMatchObject({ status: 401 });
    expect(await post(asserted(assertion(newSigningKey(), added.clientId)))).toMatchObject({ status: 401 });
    expect(await post(asserted(assertion(key, added.clientId)))).toMatchObject({ status: 200 });
    expect(await post(asserted(assertion(key, added.clientId)))).toMatchObject({ status: 401 });
  });

  it('refuses two ways at once, and challenges who came with Basic', async () => {
    const { clientId } = server().addClient({ authMethod: 'client_secret_basic', secret: 's' });
    const authorization = `Basic ${Buffer.from(`${clientId}:s`).toString('base64')}`;
    const twice = await post({ client_id: clientId, client_secret: 's' }, { authorization });
    expect(twice.body).toMatchObject({ error: 'invalid_request' });
    const wrong = await post({}, { authorization: `Basic ${Buffer.from('x:y').toString('base64')}` });
    expect([wrong.status, wrong.headers.get('www-authenticate')]).toEqual([401, 'Basic realm="bent"']);
    expect(await post({}, { authorization })).toMatchObject({ status: 200 });
  });
});

function asserted(token: string): Record<string, string> {
  const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  return { client_assertion_type: type, client_assertion: token };
}

describe('client credentials', () => {
  it('give a token of the client itself and no refresh token', async () => {
    const added = server().addClient({ authMethod: 'client_secret_post', secret: 's' });
    const config = await configured(world, added, client.ClientSecretPost('s'));
    const tokens = await client.clientCredentialsGrant(config, { resource, scope: 'read' });
    expect(tokens).toMatchObject({ scope: 'read' });
    expect(tokens.refresh_token).toBeUndefined();
    expect(server().verify(tokens.access_token)).toMatchObject({
      subject: added.clientId,
      audience: [resource],
    });
  });

  it('are nothing for a public client, and need a resource', async () => {
    const config = await configured(world, server().addClient());
    const refusal = { error: 'unauthorized_client' };
    await expect(client.clientCredentialsGrant(config, { resource })).rejects.toMatchObject(refusal);
    const { clientId } = server().addClient({ authMethod: 'client_secret_post', secret: 's' });
    const body = { client_id: clientId, client_secret: 's', grant_type: 'client_credentials' };
    const answer = await world.fetch(`${server().server.origin}/token`, {
      method: 'POST',
      body: new URLSearchParams(body),
    });
    expect(await answer.json()).toMatchObject({ error: 'invalid_target' });
  });
});

/** Seconds. openid-client waits so long between two polls, and refuses 0. */
const shortInterval = 0.01;

describe('device authorization', () => {
  let config: client.Configuration;
  beforeEach(async () => {
    Object.assign(server().settings, { deviceAuthorization: true, deviceInterval: shortInterval });
    config = await configured(world, server().addClient());
  });

  const start = () => client.initiateDeviceAuthorization(config, { resource, scope: 'read' });
  const polled = async ({ device_code }: { device_code: string }) => {
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
    return (await post({ grant_type, device_code, client_id: config.clientMetadata().client_id })).body;
  };

  it('gives tokens once the person has approved', async () => {
    const asked = await start();
    expect(await polled(asked)).toMatchObject({ error: 'authorization_pending' });
    server().slowDown(2);
    expect(await polled(asked)).toMatchObject({ error: 'slow_down' });
    expect(await polled(asked)).toMatchObject({ error: 'slow_down' });
    server().approveDevice(asked.user_code);
    const tokens = await client.pollDeviceAuthorizationGrant(config, asked, { resource });
    expect((await visited(world, tokens.access_token)).status).toBe(200);
    expect(tokens.refresh_token).toBeTypeOf('string');
    expect(await polled(asked)).toMatchObject({ error: 'invalid_grant' });
  });

  it('says what became of a code', async () => {
    const [denied, expired] = [await start(), await start()];
    server().denyDevice(denied.user_code);
    server().expireDevice(expired.user_code);
    expect(await polled(denied)).toMatchObject({ error: 'access_denied' });
    expect(await polled(expired)).toMatchObject({ error: 'expired_token' });
    expect(() => server().approveDevice(denied.user_code)).toThrow('no device waits');
    server().settings.deviceAuthorization = false;
    expect(
      (await world.fetch(`${server().server.origin}/device_authorization`, { method: 'POST' })).status,
    ).toBe(404);
  });
});

describe('enterprise-managed authorization', () => {
  const exchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
  const bearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
  const company: { client: BentClient; config?: client.Configuration } = {
    client: { clientId: '', authMethod: 'none', redirectUris: [] },
  };
  const ask = {
    requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
    subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
  };

  async function idJag(claims?: (claims: Record<string, unknown>) => Record<string, unknown>) {
    const provider = await world.openAuthorizationServer();
    const local = server().addClient({ authMethod: 'client_secret_basic', secret: 's' });
    company.client = provider.addClient({ clientId: 'at-company', clientIdElsewhere: local.clientId });
    company.config = await configured(world, company.client, client.None(), provider.issuer);
    server().settings.identityProviders = [provider];
    provider.bend.idJagClaims = claims;
    const answer = await client.genericGrantRequest(company.config, exchange, {
      ...ask,
      subject_token: provider.idToken('at-company', 'carol'),
      audience: server().issuer,
      resource,
      scope: 'read',
    });
    return { provider, answer, config: await configured(world, local, client.ClientSecretBasic('s')) };
  }

  it('exchanges an ID token for an ID-JAG and that for an access token', async () => {
    const { provider, answer, config } = await idJag();
    expect(answer).toMatchObject({ issued_token_type: ask.requested_token_type, token_type: 'n_a' });
    expect(decodeJwt(answer.access_token)).toMatchObject({
      header: { typ: 'oauth-id-jag+jwt' },
      claims: { iss: provider.issuer, aud: server().issuer, sub: 'carol', resource },
    });
    const tokens = await client.genericGrantRequest(config, bearer, { assertion: answer.access_token });
    expect((await visited(world, tokens.access_token)).status).toBe(200);
    expect(server().verify(tokens.access_token)?.subject).toBe('carol');
    const again = client.genericGrantRequest(config, bearer, { assertion: answer.access_token });
    await expect(again).rejects.toMatchObject({ error: 'invalid_grant' });
    expect(server().counts.jwtBearers).toBe(1);
  });

  it.each([
    ['for another server', { aud: 'https://other.example' }],
    ['for another client', { client_id: 'other' }],
    ['from another issuer', { iss: 'https://other.example' }],
    ['that has expired', { exp: 1 }],
  ])('refuses an ID-JAG %s', async (_what, changes) => {
    const { answer, config } = await idJag((claims) => ({ ...claims, ...changes }));
    const redeemed = client.genericGrantRequest(config, bearer, { assertion: answer.access_token });
    await expect(redeemed).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  it("refuses an ID token of another client, and another provider's ID-JAG", async () => {
    const { provider, answer, config } = await idJag();
    const foreign = { ...ask, subject_token: provider.idToken('other'), audience: server().issuer };
    if (!company.config) throw new TypeError('idJag has set it');
    await expect(client.genericGrantRequest(company.config, exchange, foreign)).rejects.toThrow();
    server().settings.identityProviders = [];
    const redeemed = client.genericGrantRequest(config, bearer, { assertion: answer.access_token });
    await expect(redeemed).rejects.toMatchObject({ error: 'invalid_grant' });
  });
});
