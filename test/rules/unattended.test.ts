/** Tokens without a user: client credentials and enterprise-managed authorization, off unless entered. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { unlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import type { BentClient } from '../support/bent/authorization-server.ts';
import type { Json } from '../support/bent/jwt.ts';
import { json } from '../support/bent/server.ts';
import { enter, ground, never, refused, stepUp, tokenRequests, words, states } from './ground.ts';
import type { Entry, Ground, GroundOptions } from './ground.ts';
import { asOwner } from './wire.ts';

const clientSecret = 's3cret-of-the-machine';
async function machine(
  options: GroundOptions = {},
  entry: Partial<Entry> = { clientSecret },
  client: Partial<BentClient> = { authMethod: 'client_secret_basic' },
): Promise<Ground> {
  const all = await ground(options);
  await enter(all.rig, all.authorizationServer, { grantType: 'client_credentials', ...entry }, client);
  return all;
}

describe('client credentials', () => {
  it('B-33 P-1: give a token with a secret, and no approval is needed', async () => {
    const { rig, authorizationServer, protectedServer } = await machine();
    const token = await rig.ask(never);
    expect(token).toMatchObject({ resource: protectedServer.url, issuer: authorizationServer.issuer });
    expect(rig.pages).toEqual([]);
    expect(rig.parts.approvalRequests.list()).toEqual([]);
    const [request] = tokenRequests(authorizationServer, 'client_credentials');
    expect(request?.headers.authorization).toMatch(/^Basic /);
    expect(request?.form.getAll('resource')).toEqual([protectedServer.url]);
    expect(request?.form.get('scope')).toBe('read');
  });

  it.each(['PEM', 'JWK'])('B-33 P-1: give a token with a key as %s, signed for the issuer', async (form) => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
    const jwk = JSON.stringify(createPrivateKey(pem).export({ format: 'jwk' }));
    const { rig, authorizationServer } = await machine(
      {},
      { privateKey: form === 'PEM' ? pem : jwk, alg: 'ES256' },
      { authMethod: 'private_key_jwt', jwk: publicKey.export({ format: 'jwk' }) },
    );
    expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
    const [request] = tokenRequests(authorizationServer, 'client_credentials');
    expect(request?.form.get('client_assertion')).toBeTruthy();
    expect(authorizationServer.server.holding('PRIVATE KEY')).toEqual([]);
  });

  it('F-6: are off for a client that was entered for sign-ins', async () => {
    const { rig, authorizationServer } = await machine({}, { grantType: 'authorization_code', clientSecret });
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'login_required' });
    await rig.ask();
    expect(rig.pages).toHaveLength(1);
    expect(tokenRequests(authorizationServer, 'client_credentials')).toEqual([]);
  });

  it('F-6: are used at their issuer and at no other', async () => {
    const { rig, world, authorizationServer } = await machine();
    const second = await world.openAuthorizationServer();
    const other = await world.openProtectedServer({ authorizationServers: [second] });
    await rig.allow('editor', undefined, other.url);
    expect(await refused(rig.ask({ ...never, resource: other.url }))).toMatchObject({
      reason: 'login_required',
    });
    expect(tokenRequests(second)).toEqual([]);
    expect(tokenRequests(authorizationServer)).toEqual([]);
  });

  it('P-1: need the user’s permission as every token does', async () => {
    const { rig, authorizationServer } = await machine();
    expect(await refused(rig.ask({ ...never, appId: 'stranger' }))).toMatchObject({
      reason: 'consent_required',
    });
    expect(authorizationServer.server.requests).toEqual([]);
  });

  it('U-4: step up by themselves, a bounded number of times', async () => {
    const { rig, authorizationServer } = await machine();
    await rig.ask(never);
    for (const scope of ['s1', 's2', 's3']) {
      expect((await rig.ask({ ...never, ...stepUp(scope) })).scope).toContain(scope);
    }
    expect(await refused(rig.ask({ ...never, ...stepUp('s4') }))).toMatchObject({
      reason: 'step_up_exhausted',
    });
    expect(authorizationServer.counts.clientCredentials).toBe(4);
  });

  it.each([
    ['invalid_client', 'Enter the client again'],
    ['unsupported_grant_type', 'The operator of the authorization server must allow the grant'],
  ])('F-6: refused with %s, name the command with their grant', async (error, advice) => {
    const { rig, authorizationServer } = await machine();
    authorizationServer.bend.tokenRequest = () => json({ error }, 400);
    const { reason, hint } = await refused(rig.ask(never));
    expect(reason).toBe('client_rejected');
    expect(hint).toContain(advice);
    expect(hint).toContain('--client-id ID --grant-type client_credentials');
  });

  it('P-1 PROMISE-4: give no token for another audience', async () => {
    const { rig, authorizationServer } = await machine({ authorization: { accessTokenFormat: 'jwt' } });
    authorizationServer.bend.accessTokenClaims = (claims) => ({ ...claims, aud: 'https://other.example' });
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'audience_mismatch' });
    expect(rig.parts.signIns.all()).toEqual([]);
  });

  it('X-2: work at a server that has no authorization endpoint', async () => {
    const { rig, authorizationServer } = await machine();
    states(authorizationServer, {
      authorization_endpoint: undefined,
      code_challenge_methods_supported: undefined,
    });
    expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
  });
});

/** A company's identity provider whose word the authorization server takes. */
async function company() {
  const all = await ground();
  const { rig, world, authorizationServer } = all;
  const provider = await world.openAuthorizationServer({ issuerPath: '/company' });
  authorizationServer.settings.identityProviders = [provider];
  provider.addClient({ clientId: 'at-the-company', clientIdElsewhere: 'by-hand', redirectUris: [] });
  const idTokenFile = path.join(temporaryFolder(), 'id-token');
  const idToken = provider.idToken('at-the-company', 'alice@company.example');
  writeFileSync(idTokenFile, `${idToken}\n`);
  const idp = { issuer: provider.issuer, clientId: 'at-the-company', idTokenFile };
  await enter(
    rig,
    authorizationServer,
    { grantType: 'id-jag', clientSecret, idp },
    { authMethod: 'client_secret_basic' },
  );
  return { ...all, provider, idTokenFile, idToken };
}

describe('enterprise-managed authorization', () => {
  it('B-34 P-2 P-3 P-4: an ID token becomes an assertion, then a token, unasked', async () => {
    const { rig, provider, authorizationServer, protectedServer } = await company();
    const token = await rig.ask(never);
    expect(token).toMatchObject({ resource: protectedServer.url, issuer: authorizationServer.issuer });
    expect(rig.pages).toEqual([]);
    const [exchange] = tokenRequests(provider);
    expect(Object.fromEntries(exchange?.form ?? [])).toMatchObject({
      audience: authorizationServer.issuer,
      resource: protectedServer.url,
      requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
    });
    const [redemption] = tokenRequests(authorizationServer);
    expect(redemption?.form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    expect(redemption?.form.get('resource')).toBe(protectedServer.url);
  });

  it('P-2 P-3 P-4: sends the company’s ID token to its provider only, and keeps none', async () => {
    const { rig, authorizationServer, protectedServer, idToken, idTokenFile } = await company();
    await rig.ask(never);
    await rig.parts.audit.flush();
    expect(authorizationServer.server.holding(idToken)).toEqual([]);
    expect(protectedServer.server.holding(idToken)).toEqual([]);
    for (const text of rig.texts()) expect(text).not.toContain(idToken);
    expect(JSON.stringify(await asOwner(rig)('signIn.list'))).not.toContain(idTokenFile);
  });

  it('P-2 P-3 P-4: uses no ID token for a server whose profiles lack this one', async () => {
    const { rig, provider, authorizationServer } = await company();
    states(authorizationServer, { authorization_grant_profiles_supported: ['urn:example:another'] });
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'metadata_invalid' });
    expect(tokenRequests(provider)).toEqual([]);
  });

  it.each<[string, (file: string) => unknown]>([
    ['is missing', () => undefined],
    ['is empty', (file) => writeFileSync(file, '')],
    ['holds something else', (file) => writeFileSync(file, 'a password, say')],
    ['is a pipe that nobody writes to', (file) => execFileSync('mkfifo', [file])],
    ['has more than 64 KiB', (file) => writeFileSync(file, `a.${'a'.repeat(65_536)}.a`)],
  ])('P-2 P-3 P-4: says so when the file of the ID token %s, and sends nothing', async (_what, lay) => {
    const { rig, provider, idTokenFile } = await company();
    unlinkSync(idTokenFile);
    lay(idTokenFile);
    const error = await refused(rig.ask(never));
    expect(error).toMatchObject({
      reason: 'file_unreadable',
      hint: expect.stringContaining('--id-token-file'),
    });
    expect(words(error)).not.toContain('a password');
    expect(tokenRequests(provider)).toEqual([]);
  });

  it.each<[string, (claims: Json) => Json]>([
    ['for another audience', (claims) => ({ ...claims, aud: 'https://other.example' })],
    ['for another client', (claims) => ({ ...claims, client_id: 'another' })],
    ['for another resource', (claims) => ({ ...claims, resource: 'https://other.example/mcp' })],
    ['of another provider', (claims) => ({ ...claims, iss: 'https://other.example' })],
    ['that has expired', (claims) => ({ ...claims, exp: 1 })],
  ])('P-12: sends the authorization server no assertion of the company %s', async (_what, claims) => {
    const { rig, provider, authorizationServer } = await company();
    provider.bend.idJagClaims = claims;
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'token_invalid' });
    expect(tokenRequests(authorizationServer)).toEqual([]);
    expect(rig.parts.signIns.all()).toEqual([]);
  });

  it('P-12: sends the authorization server no ID token as an assertion of the company', async () => {
    const { rig, provider, authorizationServer, idToken } = await company();
    provider.bend.tokenAnswer = ({ body }) => json({ ...body, access_token: idToken });
    expect(await refused(rig.ask(never))).toMatchObject({ reason: 'token_invalid' });
    expect(tokenRequests(authorizationServer)).toEqual([]);
  });

  it('P-12: a company sign-in stays with its user: another user’s tokens are returned', async () => {
    const { rig, provider, authorizationServer, idTokenFile } = await company();
    await rig.ask(never);
    const alice = 'alice@company.example';
    expect(rig.signIn()).toMatchObject({ account: alice, subject: alice });
    writeFileSync(idTokenFile, provider.idToken('at-the-company', 'mallory@company.example'));
    rig.clock.advance(3_600_000);
    const error = await refused(rig.ask(never));
    expect(error).toMatchObject({ reason: 'account_mismatch' });
    expect(error.message).toContain('mallory@company.example');
    expect(rig.parts.signIns.all()).toHaveLength(1);
    expect(rig.signIn().subject).toBe(alice);
    expect(authorizationServer.server.asked('/revoke', 'POST')).toHaveLength(1);
    writeFileSync(idTokenFile, provider.idToken('at-the-company', alice));
    expect((await rig.ask(never)).accessToken).toBeTypeOf('string');
  });

  it('sends a refused or foreign ID token again only after a minute or a change', async () => {
    const { rig, provider, idTokenFile } = await company();
    await rig.ask(never);
    rig.clock.advance(3_600_000);
    writeFileSync(idTokenFile, provider.idToken('at-the-company', 'mallory@company.example'));
    for (const more of [{}, { retryAfter: 60 }])
      expect(await refused(rig.ask(never))).toMatchObject({ reason: 'account_mismatch', ...more });
    expect(provider.counts.tokenExchanges).toBe(2);
    writeFileSync(idTokenFile, provider.idToken('another-client', 'alice@company.example'));
    for (const more of [{}, { retryAfter: 60 }])
      expect(await refused(rig.ask(never))).toMatchObject({ reason: 'login_failed', ...more });
    expect(tokenRequests(provider)).toHaveLength(3);
    rig.clock.advance(60_000);
    await refused(rig.ask(never));
    expect(tokenRequests(provider)).toHaveLength(4);
  });
});
