/** Clients that the owner entered by hand: with a secret, a key, and for machines without a person. */
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { homeInBentWorld, openSharedHome, programInBentWorld } from '../../support/bent/home.ts';
import type { BentHomeOptions, SharedHome } from '../../support/bent/home.ts';
import { filesBelow, type TestHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, enter, signIn } from '../../support/homes/owner-acts.ts';
import { freeRedirect } from '../../support/servers/port.ts';

/** One broker for all clients: each test has servers, or an issuer, of its own. */
let shared: SharedHome;
beforeAll(async () => {
  shared = await openSharedHome();
});
afterAll(() => shared.close());

const open = (options: BentHomeOptions = {}) => homeInBentWorld({ shared, ...options });
const openProgram = () => programInBentWorld({ shared });

/** A file in the home's folder, 0600. */
function fileIn(home: TestHome, name: string, text: string): string {
  const file = path.join(home.folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

function newKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { pem, jwk: publicKey.export({ format: 'jwk' }) };
}

/** What stands nowhere but in the vault: not in a file of the home, nor in anything that was printed. */
function expectHidden(home: TestHome, secret: string, except: readonly string[] = []): void {
  for (const file of filesBelow(home.folder)) {
    if (file.endsWith('.sock') || except.includes(file)) continue;
    expect(readFileSync(file, 'utf8'), file).not.toContain(secret);
  }
  for (const { stdout, stderr } of home.printed) expect(stdout + stderr).not.toContain(secret);
}

describe('keyturn oauth-client add', () => {
  const secret = 'a secret/with+signs&more=';

  it.each(['client_secret_basic', 'client_secret_post'] as const)(
    'B-17 B-19: keyturn oauth-client add enters a client that authenticates by %s, and keeps its secret out of sight',
    async (authMethod) => {
      const { home, authorizationServer, url } = await open();
      const redirectUri = await freeRedirect();
      const { clientId } = authorizationServer.addClient({ authMethod, secret, redirectUris: [redirectUri] });
      const printed = await home.ok(
        [
          'oauth-client',
          'add',
          authorizationServer.issuer,
          `--client-id=${clientId}`,
          '--client-secret-stdin',
          '--auth-method',
          authMethod,
          '--redirect-uri',
          redirectUri,
        ],
        { stdin: secret },
      );
      expect(printed).toBe(`${redirectUri}\n`);
      await signIn(home, url);
      const [request] = authorizationServer.server.asked('/token');
      const isBasic = request?.headers.authorization?.startsWith('Basic ') ?? false;
      expect(isBasic).toBe(authMethod === 'client_secret_basic');
      expect(request?.form.get('client_secret')).toBe(isBasic ? null : secret);
      expect(authorizationServer.counts).toMatchObject({ registrations: 0, codesRedeemed: 1 });
      expectHidden(home, secret);
    },
  );

  it('keyturn oauth-client add sends a secret as the server offers it if --auth-method is left out', async () => {
    const { home, authorizationServer, url } = await open({
      authorization: { authMethods: ['client_secret_post'] },
    });
    const redirectUri = await freeRedirect();
    const client = { clientId: 'abc', authMethod: 'client_secret_post', secret, redirectUris: [redirectUri] };
    authorizationServer.addClient({ ...client, authMethod: 'client_secret_post' });
    const { issuer } = authorizationServer;
    const args = ['oauth-client', 'add', issuer, '--client-id', 'abc', '--client-secret-stdin'];
    await home.ok([...args, '--redirect-uri', redirectUri], { stdin: `${secret}\n` });
    await signIn(home, url);
    expect(authorizationServer.server.asked('/token')[0]?.form.get('client_secret')).toBe(secret);
  });

  it('B-18: keyturn oauth-client add enters a client with a private key, which signs each token request and stays in the vault', async () => {
    const { home, authorizationServer, url } = await open();
    const { pem, jwk } = newKey();
    const redirectUri = await freeRedirect();
    const client = {
      clientId: 'abc',
      authMethod: 'private_key_jwt',
      jwk,
      redirectUris: [redirectUri],
    } as const;
    authorizationServer.addClient(client);
    const file = fileIn(home, 'client.pem', pem);
    await home.ok([
      'oauth-client',
      'add',
      authorizationServer.issuer,
      '--client-id',
      'abc',
      '--private-key',
      file,
      '--alg',
      'ES256',
      '--redirect-uri',
      redirectUri,
    ]);
    await signIn(home, url);
    expect(authorizationServer.counts).toMatchObject({ registrations: 0, codesRedeemed: 1 });
    expectHidden(home, pem.split('\n')[1] ?? '', [file]);
  });

  const contradictions: readonly (readonly [string, ...string[]])[] = [
    ['a method without its secret', '--client-id=a', '--auth-method=client_secret_post'],
    ['a method without its key', '--client-id=a', '--auth-method=private_key_jwt'],
    ['an algorithm without a key', '--client-id=a', '--alg=ES256'],
    ['client credentials without any', '--client-id=a', '--grant-type=client_credentials'],
    ['id-jag without an identity provider', '--client-id=a', '--grant-type=id-jag'],
    [
      'a file without its client',
      '--client-id=a',
      '--grant-type=id-jag',
      '--idp=https://a',
      '--id-token-file=f',
    ],
    [
      'a client there without its file',
      '--client-id=a',
      '--grant-type=id-jag',
      '--idp=https://a',
      '--idp-client-id=b',
    ],
    [
      'a file without its provider',
      '--client-id=a',
      '--grant-type=id-jag',
      '--idp-client-id=b',
      '--id-token-file=f',
    ],
    ['a workload without its assertion', '--client-id=a', '--grant-type=jwt-bearer'],
    ['an assertion for another grant', '--client-id=a', '--assertion=env:TOKEN'],
    ['an assertion from nowhere', '--client-id=a', '--grant-type=jwt-bearer', '--assertion=token'],
    ['no client id'],
    ['a method that nobody knows', '--client-id=a', '--auth-method=magic'],
    ['a key file that is not there', '--client-id=a', '--private-key=/nonexistent/key.pem'],
  ];

  it('B-17: keyturn oauth-client add refuses what is incomplete or contradicts itself, and points to its help', async () => {
    const { home } = shared;
    for (const [what, ...args] of contradictions) {
      const run = await home.keyturn(['oauth-client', 'add', 'https://login.example', ...args]);
      expect(run, what).toMatchObject({ code: 2, stdout: '' });
      expect(run.stderr, what).toContain('keyturn oauth-client add --help');
    }
  });

  it('keyturn oauth-client add says which client it takes the place of', async () => {
    const { home } = shared;
    const entered = (clientId: string) =>
      home.keyturn(['oauth-client', 'add', 'https://login.example', '--client-id', clientId]);
    expect(await entered('one')).toMatchObject({
      code: 0,
      stderr: expect.not.stringContaining('replaces'),
    });
    expect(await entered('two')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('replaces the client "one". Keyturn has forgotten that one'),
    });
    expect(await entered('two')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('replaces the client that was entered for "two" before'),
    });
  });

  it('B-19: keyturn oauth-client add refuses a key that can’t sign at once, and repeats nothing of it', async () => {
    const { home } = shared;
    const file = fileIn(home, 'client.pem', 'not a key at all');
    const args = ['oauth-client', 'add', 'https://login.example', '--client-id', 'a', '--private-key', file];
    const run = await home.keyturn(args);
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('it is neither a PEM private key');
    expect(run.stderr).not.toContain('not a key at all');

    const other = await home.keyturn([
      ...args.slice(0, -1),
      fileIn(home, 'ec.pem', newKey().pem),
      '--alg',
      'RS256',
    ]);
    expect(other).toMatchObject({ code: 5, stdout: '' });
    expect(other.stderr).toContain("it can't sign with RS256");
  });
});

describe('a client that needs no person', () => {
  it('a client that needs no person gets tokens by its own secret, again when one is refused, and opens no browser', async () => {
    const { home, program, authorizationServer, url } = await openProgram();
    const { issuer } = authorizationServer;
    authorizationServer.addClient({
      clientId: 'bot',
      authMethod: 'client_secret_basic',
      secret: 's3cret-of-bot',
    });
    const args = ['oauth-client', 'add', issuer, '--client-id', 'bot', '--client-secret-stdin'];
    expect(await home.ok([...args, '--grant-type', 'client_credentials'], { stdin: 's3cret-of-bot' })).toBe(
      '',
    );
    expect(await program.call()).toMatchObject({ status: 200 });
    authorizationServer.expireAccessTokens();
    expect(await program.call()).toMatchObject({ status: 200 });
    expect(await home.keyturn(['token', url, '--no-input'])).toMatchObject({ code: 0, stderr: '' });
    expect(authorizationServer.counts).toMatchObject({
      authorizations: 0,
      clientCredentials: 2,
      registrations: 0,
    });
    expect(authorizationServer.server.asked('/token')[0]?.form.get('resource')).toBe(url);
    expectHidden(home, 's3cret-of-bot');
  });

  it('B-33: a client that needs no person needs a permission like any other', async () => {
    const { home, authorizationServer, url } = await open();
    authorizationServer.addClient({ clientId: 'bot', authMethod: 'client_secret_basic', secret: 'hush' });
    const args = [
      'oauth-client',
      'add',
      authorizationServer.issuer,
      '--client-id',
      'bot',
      '--client-secret-stdin',
    ];
    await home.ok([...args, '--grant-type', 'client_credentials'], { stdin: 'hush' });
    expect(await home.keyturn(['token', url, '--no-input'])).toMatchObject({ code: 3, stdout: '' });
    expect(authorizationServer.counts.tokenRequests).toBe(0);
  });

  it('B-34: a client that needs no person gets tokens by an identity assertion, from an ID token read from its file at each use', async () => {
    const { home, world, program, authorizationServer, url } = await openProgram();
    const provider = await world.openAuthorizationServer();
    authorizationServer.settings.identityProviders = [provider];
    authorizationServer.addClient({ clientId: 'desk', authMethod: 'client_secret_post', secret: 'hush' });
    provider.addClient({ clientId: 'desk-there', clientIdElsewhere: 'desk' });
    const file = fileIn(home, 'id-token', provider.idToken('desk-there'));
    const { issuer } = authorizationServer;
    await home.ok(
      [
        'oauth-client',
        'add',
        issuer,
        '--client-id',
        'desk',
        '--client-secret-stdin',
        '--auth-method',
        'client_secret_post',
        '--grant-type',
        'id-jag',
        '--idp',
        provider.issuer,
        '--idp-client-id',
        'desk-there',
        '--id-token-file',
        file,
      ],
      { stdin: 'hush' },
    );
    expect(await program.call()).toMatchObject({ status: 200 });
    expect(provider.counts.tokenExchanges).toBe(1);
    expect(authorizationServer.counts).toMatchObject({ jwtBearers: 1, authorizations: 0 });
    const [exchange] = provider.server.asked('/token');
    expect(exchange?.form.get('audience')).toBe(issuer);
    expect(exchange?.form.get('resource')).toBe(url);

    authorizationServer.expireAccessTokens();
    fileIn(home, 'id-token', 'gone');
    const { run } = await program.call();
    expect(run).toMatchObject({ code: 7, stdout: '' });
    expect(run.stderr).toContain('reason: file_unreadable');
    fileIn(home, 'id-token', provider.idToken('desk-there'));
    expect(await program.call()).toMatchObject({ status: 200 });
  });

  it('P-13: a client that needs no person gets tokens of two servers by one sign-in of the person at the company', async () => {
    const { home, world, program, authorizationServer, url } = await openProgram();
    const provider = await world.openAuthorizationServer({ issuerPath: '/company', resourceRequired: false });
    const second = await world.openAuthorizationServer();
    const other = await world.openProtectedServer({ authorizationServers: [second] });
    const redirectUri = await freeRedirect();
    provider.addClient({ clientId: 'desk-there', clientIdElsewhere: 'desk', redirectUris: [redirectUri] });
    await enter(home, { issuer: provider.issuer, clientId: 'desk-there', redirectUri });
    for (const server of [authorizationServer, second]) {
      server.settings.identityProviders = [provider];
      server.addClient({ clientId: 'desk', authMethod: 'client_secret_basic', secret: 'hush' });
      const entry = ['oauth-client', 'add', server.issuer, '--client-id=desk', '--client-secret-stdin'];
      await home.ok([...entry, '--grant-type=id-jag', `--idp=${provider.issuer}`], { stdin: 'hush' });
    }
    const before = await home.keyturn(['token', url, '--no-input']);
    expect(before).toMatchObject({ code: 3, stdout: '' });
    expect(before.stderr).toContain(`keyturn login ${provider.issuer}`);

    await signIn(home, provider.issuer);
    expect(await program.call()).toMatchObject({ status: 200 });
    await allow(home, 'cli', other.url);
    expect(await home.keyturn(['token', other.url, '--no-input'])).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(provider.counts).toMatchObject({ authorizations: 1, tokenExchanges: 2, registrations: 0 });
    expect(provider.server.asked('/authorize')[0]?.query.has('resource')).toBe(false);

    await askBroker(home, 'signIn.revoke', { resource: provider.issuer });
    const after = await home.keyturn(['token', other.url, '--no-input']);
    expect(after).toMatchObject({ code: 3, stdout: '' });
    expect(after.stderr).toContain(`keyturn login ${provider.issuer}`);
  });
});
