/** Ways to a token besides the browser on this machine, and what the owner enters for them. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { homeInBentWorld, programInBentWorld } from '../support/bent-home.ts';
import { filesBelow, newHome, type Running, type TestHome, until } from '../support/home.ts';

interface Question {
  id: string;
  kind: string;
  code?: string;
  url?: string;
}

/** The one question that waits, as another process sees it. */
async function onlyQuestion(home: TestHome, kind: string): Promise<Required<Question>> {
  const question = await until(`a question of kind ${kind}`, async () => {
    const waiting = await home.json<Question[]>('pending');
    return waiting.length === 1 && waiting[0]?.kind === kind ? waiting[0] : undefined;
  });
  return { code: '', url: '', ...question };
}

describe('login --device', () => {
  const device = { authorization: { deviceAuthorization: true } };

  it('signs in by a code that the person enters elsewhere, and prints it for nobody but the person', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld(device);
    await home.ok(['allow', 'cli', url]);
    const signingIn = home.start(['login', url, '--device', '--account', 'elsewhere', '--json']);
    const { code, url: page } = await onlyQuestion(home, 'device');
    expect(code).toMatch(/^[A-Z]{4}-[A-Z]{4}$/);
    expect(await home.ok(['pending'])).toContain(`enter ${code} at`);

    // A program that asks at the same time gets a token by the browser here, and not a letter of the code.
    const other = await home.keyturn(['token', url]);
    expect(other.code).toBe(0);
    expect(other.stdout + other.stderr).not.toContain(code);

    authorizationServer.approveDevice(code);
    const { code: exit, stdout, stderr } = await signingIn.ended;
    expect(exit).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ account: 'elsewhere', state: 'active', scope: 'read' });
    expect(stderr).toContain(`enter ${code}\n${page}\n`);
    expect(authorizationServer.counts.devicePolls).toBeGreaterThan(0);
    const [request] = authorizationServer.server.asked('/device_authorization');
    expect(request?.form.get('resource')).toBe(url);
  });

  it('exits 5 when the person says no there', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld(device);
    const signingIn = home.start(['login', url, '--device']);
    authorizationServer.denyDevice((await onlyQuestion(home, 'device')).code);
    const run = await signingIn.ended;
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('reason: access_denied');
  });

  it('can be called off from another terminal', async () => {
    const { home, url } = await homeInBentWorld(device);
    const signingIn = home.start(['login', url, '--device']);
    await home.ok(['answer', (await onlyQuestion(home, 'device')).id, 'no']);
    const run = await signingIn.ended;
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('was called off');
  });

  it('exits 3 when nobody entered the code in the time given, and says that the sign-in is not finished', async () => {
    const { home, url } = await homeInBentWorld(device);
    const run = await home.keyturn(['login', url, '--device', '--timeout', '1']);
    expect(run).toMatchObject({ code: 3, stdout: '' });
    expect(run.stderr).toContain('reason: login_pending');
  });

  it('is refused where the server does not offer it, with the other way in the hint', async () => {
    const { home, url } = await homeInBentWorld();
    const run = await home.keyturn(['login', url, '--device']);
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('offers no sign-in on another device');
    expect(run.stderr).toContain('rule: RFC 8628 §4');
    expect(run.stderr).toContain('keyturn login RESOURCE --paste');
  });
});

describe('login --paste', () => {
  /** A sign-in that waits for an address, and where a browser elsewhere ends. */
  async function waiting(there: Awaited<ReturnType<typeof homeInBentWorld>>) {
    const { home, url, world } = there;
    const signingIn: Running = home.start(['login', url, '--paste'], { stdinStaysOpen: true });
    await signingIn.says('paste that whole address here:');
    const { url: page } = await onlyQuestion(home, 'login');
    await signingIn.says(page);
    const reply = await world.fetch(page, { redirect: 'manual' });
    const address = new URL(reply.headers.get('location') ?? '');
    expect(address.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    return { signingIn, address };
  }

  it('takes the address that a browser elsewhere ended at, refuses wrong ones before it, and shows none', async () => {
    const there = await homeInBentWorld();
    const { home, url, authorizationServer } = there;
    const { signingIn, address } = await waiting(there);
    signingIn.types('https://evil.example/callback?code=1');
    await signingIn.says('That is not the address a sign-in ends at');
    const foreign = new URL(address);
    foreign.searchParams.set('state', 'another');
    signingIn.types(foreign.href);
    await signingIn.says('That address belongs to another sign-in');
    signingIn.types(address.href);
    const run = await signingIn.ended;
    expect(run).toMatchObject({ code: 0, stdout: '' });
    expect(run.stderr).toContain('reason: state_mismatch');
    const code = address.searchParams.get('code') ?? '';
    expect(code.length).toBeGreaterThan(10);
    expect(run.stderr).not.toContain(code);
    // One visit, which was this test's: no browser was opened.
    expect(authorizationServer.counts).toMatchObject({ authorizations: 1, codesRedeemed: 1 });
    await home.ok(['allow', 'cli', url]);
    expect(await home.keyturn(['token', url, '--no-interaction'])).toMatchObject({ code: 0 });
  });

  it('checks the issuer of a pasted address as of any other', async () => {
    const there = await homeInBentWorld();
    const { signingIn, address } = await waiting(there);
    address.searchParams.set('iss', 'https://evil.example');
    signingIn.types(address.href);
    const run = await signingIn.ended;
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('reason: issuer_mismatch');
    expect(there.authorizationServer.counts.codesRedeemed).toBe(0);
  });

  it('ends by itself when the browser reaches this machine after all, though standard input stays open', async () => {
    const there = await homeInBentWorld();
    const { signingIn, address } = await waiting(there);
    expect((await there.world.fetch(address)).status).toBe(200);
    expect(await signingIn.ended).toMatchObject({ code: 0, stdout: '' });
  });

  it('is called off where standard input ends without an address of it', async () => {
    const { home, url } = await homeInBentWorld();
    const run = await home.keyturn(['login', url, '--paste'], { stdin: '\nnot an address\n' });
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('That is not the address a sign-in ends at');
    expect(run.stderr).toContain('standard input ended');
    expect(run.stderr).toContain('reason: login_failed');
  });

  it('shows its own address only, though a page of another request waits for the same server', async () => {
    const there = await homeInBentWorld({ env: { KEYTURN_BROWSER: 'true' } });
    const { home, url, world } = there;
    const other = home.start(['login', url]);
    const { url: firstPage, id } = await onlyQuestion(home, 'login');
    const signingIn = home.start(['login', url, '--paste'], { stdinStaysOpen: true });
    await signingIn.says('paste that whole address here:');
    const waitingNow = await home.json<Question[]>('pending');
    const own = waitingNow.find((question) => question.id !== id)?.url ?? '';
    const reply = await world.fetch(own, { redirect: 'manual' });
    signingIn.types(reply.headers.get('location') ?? '');
    const run = await signingIn.ended;
    expect(run.code).toBe(0);
    expect(run.stderr).toContain(own);
    expect(run.stderr).not.toContain(firstPage);
    await home.ok(['answer', id, 'no']);
    expect(await other.ended).toMatchObject({ code: 5 });
  });

  it('excludes --device', async () => {
    const run = await newHome().keyturn(['login', 'https://notes.example/mcp', '--paste', '--device']);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain('--device and --paste exclude each other');
  });
});

describe('login --issuer and --account', () => {
  it('chooses among several authorization servers, and refuses one that the server does not name', async () => {
    const { home, world, authorizationServer: first, protectedServer, url } = await homeInBentWorld();
    const second = await world.openAuthorizationServer();
    protectedServer.settings.authorizationServers = [first, second];
    const grant = JSON.parse(await home.ok(['login', url, '--issuer', second.issuer, '--json'])) as unknown;
    expect(grant).toMatchObject({ issuer: second.issuer, state: 'active' });
    expect(first.counts.authorizations).toBe(0);

    const run = await home.keyturn(['login', url, '--issuer', 'https://evil.example']);
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('reason: issuer_mismatch');
    expect(run.stderr).toContain(`It names "${first.issuer}", "${second.issuer}"`);
  });

  it('keeps two accounts at one server apart, with a token of its own for each', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld();
    await home.ok(['allow', 'cli', url]);
    await home.ok(['login', url, '--account', 'work']);
    authorizationServer.settings.subject = 'bob';
    await home.ok(['login', url, '--account', 'private']);
    const [first] = authorizationServer.server.asked('/authorize');
    expect(first?.query.get('login_hint')).toBe('work');
    const tokenOf = async (account: string): Promise<string> =>
      (await home.ok(['token', url, '--account', account, '--no-interaction'])).trim();
    expect(authorizationServer.verify(await tokenOf('work'))?.subject).toBe('alice');
    expect(authorizationServer.verify(await tokenOf('private'))?.subject).toBe('bob');
    expect(await home.json('list')).toMatchObject([{ account: 'work' }, { account: 'private' }]);
  });
});

/** A file in the home's folder, 0600. */
function fileIn(home: TestHome, name: string, text: string): string {
  mkdirSync(home.folder, { recursive: true, mode: 0o700 });
  const file = path.join(home.folder, name);
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

function newKey() {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { pem, jwk: publicKey.export({ format: 'jwk' }) };
}

async function freeRedirect(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/callback`;
}

/** What stands nowhere but in the vault: not in a file of the home, nor in anything that was printed. */
function expectHidden(home: TestHome, secret: string, except: readonly string[] = []): void {
  for (const file of filesBelow(home.folder)) {
    if (file.endsWith('.sock') || except.includes(file)) continue;
    expect(readFileSync(file, 'utf8'), file).not.toContain(secret);
  }
  for (const { stdout, stderr } of home.printed) expect(stdout + stderr).not.toContain(secret);
}

describe('register', () => {
  const secret = 'a secret/with+signs&more=';

  it.each(['client_secret_basic', 'client_secret_post'] as const)(
    'enters a client that authenticates by %s, and keeps its secret out of sight',
    async (authMethod) => {
      const { home, authorizationServer, url } = await homeInBentWorld();
      const redirectUri = await freeRedirect();
      const { clientId } = authorizationServer.addClient({ authMethod, secret, redirectUris: [redirectUri] });
      const printed = await home.ok(
        [
          ...['register', authorizationServer.issuer, '--client-id', clientId, '--client-secret-stdin'],
          ...['--auth-method', authMethod, '--redirect-uri', redirectUri],
        ],
        { stdin: secret },
      );
      expect(printed).toBe(`${redirectUri}\n`);
      await home.ok(['login', url]);
      const [request] = authorizationServer.server.asked('/token');
      const isBasic = request?.headers.authorization?.startsWith('Basic ') ?? false;
      expect(isBasic).toBe(authMethod === 'client_secret_basic');
      expect(request?.form.get('client_secret')).toBe(isBasic ? null : secret);
      expect(authorizationServer.counts).toMatchObject({ registrations: 0, codesRedeemed: 1 });
      expectHidden(home, secret);
    },
  );

  it('sends a secret as the server offers it where --auth-method is left out', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld({
      authorization: { authMethods: ['client_secret_post'] },
    });
    const redirectUri = await freeRedirect();
    const client = { clientId: 'abc', authMethod: 'client_secret_post', secret, redirectUris: [redirectUri] };
    authorizationServer.addClient({ ...client, authMethod: 'client_secret_post' });
    const { issuer } = authorizationServer;
    const args = ['register', issuer, '--client-id', 'abc', '--client-secret-stdin'];
    await home.ok([...args, '--redirect-uri', redirectUri], { stdin: `${secret}\n` });
    await home.ok(['login', url]);
    expect(authorizationServer.server.asked('/token')[0]?.form.get('client_secret')).toBe(secret);
  });

  it('enters a client with a private key, which signs each token request and stays in the vault', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld();
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
      ...['register', authorizationServer.issuer, '--client-id', 'abc', '--private-key', file],
      ...['--alg', 'ES256', '--redirect-uri', redirectUri],
    ]);
    await home.ok(['login', url]);
    expect(authorizationServer.counts).toMatchObject({ registrations: 0, codesRedeemed: 1 });
    expectHidden(home, pem.split('\n')[1] ?? '', [file]);
  });

  const contradictions: readonly (readonly [string, ...string[]])[] = [
    ['a method without its secret', '--client-id=a', '--auth-method=client_secret_post'],
    ['a method without its key', '--client-id=a', '--auth-method=private_key_jwt'],
    ['an algorithm without a key', '--client-id=a', '--alg=ES256'],
    ['client credentials without any', '--client-id=a', '--grant=client_credentials'],
    ['id-jag without an identity provider', '--client-id=a', '--grant=id-jag'],
    ['half an identity provider', '--client-id=a', '--grant=id-jag', '--idp=https://idp.example'],
    ['no client id'],
    ['a method that nobody knows', '--client-id=a', '--auth-method=magic'],
    ['a key file that is not there', '--client-id=a', '--private-key=/nonexistent/key.pem'],
  ];

  it('refuses what is incomplete or contradicts itself, and points to its help', async () => {
    const home = newHome();
    for (const [what, ...args] of contradictions) {
      const run = await home.keyturn(['register', 'https://login.example', ...args]);
      expect(run, what).toMatchObject({ code: 2, stdout: '' });
      expect(run.stderr, what).toContain('keyturn register --help');
    }
  });

  it('refuses a key that can’t sign at once, and repeats nothing of it', async () => {
    const home = newHome();
    const file = fileIn(home, 'client.pem', 'not a key at all');
    const args = ['register', 'https://login.example', '--client-id', 'a', '--private-key', file];
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
  it('gets tokens by its own secret, again when one is refused, and opens no browser', async () => {
    const { home, program, authorizationServer, url } = await programInBentWorld();
    const { issuer } = authorizationServer;
    authorizationServer.addClient({
      clientId: 'bot',
      authMethod: 'client_secret_basic',
      secret: 's3cret-of-bot',
    });
    const args = ['register', issuer, '--client-id', 'bot', '--client-secret-stdin'];
    expect(await home.ok([...args, '--grant', 'client_credentials'], { stdin: 's3cret-of-bot' })).toBe('');
    expect(await program.call()).toMatchObject({ status: 200 });
    authorizationServer.expireAccessTokens();
    expect(await program.call()).toMatchObject({ status: 200 });
    expect(await home.keyturn(['token', url, '--no-interaction'])).toMatchObject({ code: 0, stderr: '' });
    expect(authorizationServer.counts).toMatchObject({
      authorizations: 0,
      clientCredentials: 2,
      registrations: 0,
    });
    expect(authorizationServer.server.asked('/token')[0]?.form.get('resource')).toBe(url);
    expectHidden(home, 's3cret-of-bot');
  });

  it('needs a permission like any other', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld();
    authorizationServer.addClient({ clientId: 'bot', authMethod: 'client_secret_basic', secret: 'hush' });
    const args = ['register', authorizationServer.issuer, '--client-id', 'bot', '--client-secret-stdin'];
    await home.ok([...args, '--grant', 'client_credentials'], { stdin: 'hush' });
    expect(await home.keyturn(['token', url, '--no-interaction'])).toMatchObject({ code: 3, stdout: '' });
    expect(authorizationServer.counts.tokenRequests).toBe(0);
  });

  it('gets tokens by an identity assertion of the company’s provider, read from its file at each use', async () => {
    const { home, world, program, authorizationServer, url } = await programInBentWorld();
    const provider = await world.openAuthorizationServer();
    authorizationServer.settings.identityProviders = [provider];
    authorizationServer.addClient({ clientId: 'desk', authMethod: 'client_secret_post', secret: 'hush' });
    provider.addClient({ clientId: 'desk-there', clientIdElsewhere: 'desk' });
    const file = fileIn(home, 'id-token', provider.idToken('desk-there'));
    const { issuer } = authorizationServer;
    await home.ok(
      [
        ...[
          'register',
          issuer,
          '--client-id',
          'desk',
          '--client-secret-stdin',
          '--auth-method',
          'client_secret_post',
        ],
        ...[
          '--grant',
          'id-jag',
          '--idp',
          provider.issuer,
          '--idp-client-id',
          'desk-there',
          '--id-token-file',
          file,
        ],
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
});

describe('override', () => {
  /** Bends the metadata of the issuer. */
  type World = Awaited<ReturnType<typeof homeInBentWorld>>;
  const rules: readonly [string, string, (world: World) => void][] = [
    [
      'issuer-mismatch',
      'issuer_mismatch',
      ({ authorizationServer: { settings, bend, issuer } }) => {
        settings.issInResponse = false;
        bend.metadata = (document) => ({ ...document, issuer: `${issuer}/other` });
      },
    ],
    [
      'no-pkce-metadata',
      'pkce_unsupported',
      ({ authorizationServer: { bend } }) => {
        bend.metadata = ({ code_challenge_methods_supported: _, ...document }) => document;
      },
    ],
    [
      'no-resource',
      'login_failed',
      ({ authorizationServer: { settings, bend }, url }) => {
        settings.resourceRequired = false;
        bend.authorizeError = ({ query }) =>
          query.has('resource') ? { error: 'invalid_target' } : undefined;
        bend.accessTokenClaims = (claims) => ({ ...claims, aud: url });
      },
    ],
  ];

  it.each(rules)(
    '%s decides whether a server that errs is refused, and is shown while it is on',
    async (rule, reason, err) => {
      const there = await homeInBentWorld();
      const { home, url, authorizationServer } = there;
      err(there);
      const before = await home.keyturn(['login', url]);
      expect(before).toMatchObject({ code: 5, stdout: '' });
      expect(before.stderr).toContain(`reason: ${reason}`);

      expect(await home.ok(['override', url, rule, 'on'])).toBe('');
      await home.ok(['login', url]);
      expect(authorizationServer.counts.codesRedeemed).toBe(1);
      const [visit] = authorizationServer.server.asked('/authorize').slice(-1);
      // Whatever is waived, PKCE is not.
      expect(visit?.query.get('code_challenge_method')).toBe('S256');
      expect(await home.ok(['list'])).toContain(`active (override ${rule})`);
      expect(await home.ok(['status'])).toContain(`OVERRIDE   ${url}: ${rule}\n`);
      expect(await home.json('list')).toMatchObject([{ overrides: [rule] }]);
      expect(readFileSync(path.join(home.paths.state, 'audit.jsonl'), 'utf8')).toContain(`"${rule} on"`);

      await home.ok(['override', url, rule, 'off']);
      expect(await home.keyturn(['login', url])).toMatchObject({ code: 5 });
      expect(await home.ok(['list'])).not.toContain('override');
      expect(await home.ok(['status'])).not.toContain('OVERRIDE');
    },
  );

  it('counts for an issuer too, however its slash at the end is written, and ends for both', async () => {
    const there = await homeInBentWorld({ authorization: { issuerPath: '/' } });
    const { home, url, authorizationServer } = there;
    authorizationServer.bend.metadata = ({ code_challenge_methods_supported: _, ...document }) => document;
    await home.ok(['override', authorizationServer.issuer, 'no-pkce-metadata', 'on']);
    await home.ok(['login', url]);
    expect(await home.json('list')).toMatchObject([{ overrides: ['no-pkce-metadata'] }]);
    await home.ok(['override', authorizationServer.issuer.replace(/\/$/, ''), 'no-pkce-metadata', 'off']);
    expect(await home.ok(['status'])).not.toContain('OVERRIDE');
    expect(await home.keyturn(['login', url])).toMatchObject({ code: 5 });
  });

  it.each([
    ['a rule that there is none of', ['https://notes.example/mcp', 'no-pkce', 'on']],
    ['a state other than on and off', ['https://notes.example/mcp', 'no-resource', 'maybe']],
    ['what is no server', ['notes', 'no-resource', 'on']],
  ])('refuses %s', async (_what, args) => {
    expect(await newHome().keyturn(['override', ...args])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('client-metadata', () => {
  const clientUrl = 'https://keyturn.example/client.json';

  it('prints a document by the rules, which a server then knows Keyturn by, without registration', async () => {
    const { home, program, authorizationServer, url } = await programInBentWorld({
      authorization: { clientIdMetadataDocuments: true, redirectMatching: 'anyLoopbackPort' },
      env: { KEYTURN_CLIENT_METADATA_URL: clientUrl },
    });
    const document = JSON.parse(await home.ok(['client-metadata', clientUrl])) as {
      client_id: string;
      client_name: string;
      redirect_uris: string[];
      grant_types: string[];
      response_types: string[];
      token_endpoint_auth_method: string;
    };
    expect(document).toMatchObject({
      client_id: clientUrl,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    });
    expect(document.client_name).not.toBe('');
    const withoutPort = (uri: string): string => uri.replace(/:\d+(?=\/)/, '');
    for (const uri of document.redirect_uris) expect(uri).toMatch(/^http:\/\/(127\.0\.0\.1|localhost)[:/]/);

    expect(await program.call()).toMatchObject({ status: 200 });
    const [visit] = authorizationServer.server.asked('/authorize');
    expect(visit?.query.get('client_id')).toBe(clientUrl);
    const redirectUri = visit?.query.get('redirect_uri') ?? '';
    expect(document.redirect_uris.map(withoutPort)).toContain(withoutPort(redirectUri));
    expect(authorizationServer.counts).toMatchObject({ registrations: 0, codesRedeemed: 1 });
    expect(authorizationServer.server.asked('/token')[0]?.form.get('client_id')).toBe(clientUrl);
    expect(url).toBe(authorizationServer.server.asked('/token')[0]?.form.get('resource'));
  });

  it.each([
    'http://keyturn.example/client.json',
    'https://keyturn.example',
    'https://keyturn.example/a#b',
    'client',
  ])('refuses %s, which no server would take', async (bad) => {
    const run = await newHome().keyturn(['client-metadata', bad]);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain("can't be the URL of a client ID metadata document");
  });
});
