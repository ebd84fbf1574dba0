/**
 * The scenarios of a public conformance suite for this protocol's clients, run as such a suite runs
 * them: plain http on the loopback address, a browser that only follows redirects, and a program that
 * calls `keyturn token` when it is refused.
 */
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostedDocuments } from '../../support/bent/authorization-server.ts';
import { openSharedHome, programInBentWorld } from '../../support/bent/home.ts';
import type { BentHome, BentHomeOptions, SharedHome } from '../../support/bent/home.ts';
import { type Run, until } from '../../support/home.ts';
import { askBroker, questionOf } from '../../support/homes/ask-broker.ts';
import { answer, enter, signIn } from '../../support/homes/owner-acts.ts';

/** Where the document of this client lies, for servers that take such documents. */
const clientUrl = 'https://conformance.example/client-metadata.json';

/** One broker for every scenario that looks at its own servers only: a suite's client has one as well. */
let shared: SharedHome;
beforeAll(async () => {
  shared = await openSharedHome({
    plain: true,
    env: { KEYTURN_CLIENT_METADATA_URL: clientUrl },
  });
});
afterAll(() => shared.close());

const open = (options: BentHomeOptions = {}) => programInBentWorld({ plain: true, shared, ...options });

/** With a home of its own. */
const openAlone = (options: BentHomeOptions = {}) => programInBentWorld({ plain: true, ...options });

/** A refusal: nothing on stdout, the exit code, the reason as the last line, and what else it says. */
function expectRefusal(run: Run, code: number, reason: string, ...texts: readonly string[]): void {
  expect(run).toMatchObject({ code, stdout: '' });
  expect(run.stderr).toMatch(new RegExp(`  reason: ${reason}\n$`));
  expect(run.stderr).toContain('  hint: ');
  for (const text of texts) expect(run.stderr).toContain(text);
}

/** The authorization request that came last. */
function lastVisit({ authorizationServer }: Pick<BentHome, 'authorizationServer'>): URLSearchParams {
  return authorizationServer.server.asked('/authorize').at(-1)?.query ?? new URLSearchParams();
}

describe('discovery', () => {
  it.each([
    ['at the path-specific place, named by the challenge', 'path', true],
    ['at the path-specific place, named by nobody', 'path', false],
    ['at the root, named by the challenge', 'root', true],
    ['at the root, named by nobody', 'root', false],
    ['elsewhere, where only the challenge leads', 'elsewhere', true],
  ] as const)('B-9 B-14: finds the protected resource metadata %s', async (_where, place, isNamed) => {
    const there = await open({
      protection: { metadataAt: [place], ...(isNamed ? {} : { metadataUrl: undefined }) },
    });
    const { status, runs } = await there.program.call();
    expect({ status, runs: runs.length }).toEqual({ status: 200, runs: 1 });
    // RFC 8707: in both requests, byte for byte.
    expect(lastVisit(there).getAll('resource')).toEqual([there.url]);
    expect(there.authorizationServer.server.asked('/token')[0]?.form.getAll('resource')).toEqual([there.url]);
  });

  it.each([
    ['RFC 8414, issuer without a path', '', 'oauth'],
    ['OpenID Connect, issuer without a path', '', 'oidc'],
    ['RFC 8414, tenant inserted', '/tenant1', 'oauth'],
    ['OpenID Connect, tenant inserted', '/tenant1', 'oidc'],
    ['OpenID Connect, tenant first', '/tenant1', 'oidcAppended'],
  ] as const)(
    'B-11: discovery finds the authorization server metadata (%s), in the order of the rule',
    async (_form, issuerPath, place) => {
      const { program, authorizationServer } = await open({
        authorization: { issuerPath, metadataAt: [place] },
      });
      expect((await program.call()).status).toBe(200);
      const known: readonly string[] = authorizationServer.metadataPaths;
      const asked = authorizationServer.server.requests
        .map((request) => request.path)
        .filter((one) => known.includes(one));
      expect(asked).toEqual(known.slice(0, asked.length));
    },
  );

  it('B-10: discovery refuses metadata that is about another resource', async () => {
    const { program, protectedServer, authorizationServer } = await open();
    protectedServer.bend.metadata = (document) => ({ ...document, resource: 'https://other.example/mcp' });
    const { run } = await program.call();
    expectRefusal(run, 5, 'resource_mismatch', 'rule: RFC 9728 §3.3', '"https://other.example/mcp"');
    expect(authorizationServer.server.requests).toEqual([]);
  });

  it('B-12: discovery refuses an authorization server that says nothing about PKCE', async () => {
    const { program, authorizationServer } = await open();
    authorizationServer.bend.metadata = (document) => ({
      ...document,
      code_challenge_methods_supported: undefined,
    });
    expectRefusal((await program.call()).run, 5, 'pkce_unsupported', 'PKCE with S256');
    expect(authorizationServer.counts.authorizations).toBe(0);
  });

  it('B-13: discovery refuses metadata of another issuer', async () => {
    const { program, authorizationServer } = await open();
    authorizationServer.bend.metadata = (document) => ({ ...document, issuer: 'https://evil.example' });
    expectRefusal((await program.call()).run, 5, 'issuer_mismatch', 'rule: RFC 8414 §3.3');
  });
});

describe('registration', () => {
  it('B-15: registration is a client ID metadata document if the server takes one, and registers nothing', async () => {
    const there = await open({
      authorization: {
        clientIdMetadataDocuments: true,
        hosted: hostedDocuments(clientUrl),
        redirectMatching: 'anyLoopbackPort',
      },
    });
    expect((await there.program.call()).status).toBe(200);
    expect(lastVisit(there).get('client_id')).toBe(clientUrl);
    expect(there.authorizationServer.counts.registrations).toBe(0);
  });

  it('B-15: registration is dynamic if the server takes no document, as a native client with a loopback redirect', async () => {
    const { program, authorizationServer } = await open();
    expect((await program.call()).status).toBe(200);
    const [request] = authorizationServer.server.asked('/register');
    expect(request?.json).toMatchObject({
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    });
    expect(authorizationServer.counts.registrations).toBe(1);
  });

  it('B-15: registration prefers the client that the user entered to any other', async () => {
    const there = await open({ authorization: { clientIdMetadataDocuments: true } });
    const { home, program, authorizationServer } = there;
    const { issuer } = authorizationServer;
    const redirectUri = await enter(home, { issuer, clientId: 'by-hand' });
    authorizationServer.addClient({ clientId: 'by-hand', redirectUris: [redirectUri] });
    expect((await program.call()).status).toBe(200);
    expect(lastVisit(there).get('client_id')).toBe('by-hand');
    expect(authorizationServer.counts.registrations).toBe(0);
  });

  it('B-15: asks the user for a client if the server offers no registration', async () => {
    const { program, url } = await open({ authorization: { registration: 'absent' } });
    expectRefusal(
      (await program.call()).run,
      5,
      'registration_required',
      `keyturn login ${url} --client-id ID`,
    );
  });

  it.each(['none', 'client_secret_basic', 'client_secret_post'] as const)(
    'B-18: a client authenticates at the token endpoint by %s, as it was registered',
    async (method) => {
      const { program, authorizationServer } = await open({
        authorization: { authMethods: [method], registeredAuthMethod: method },
      });
      expect((await program.call()).status).toBe(200);
      const [request] = authorizationServer.server.asked('/token');
      expect(request?.headers.authorization?.split(' ')[0]).toBe(
        method === 'client_secret_basic' ? 'Basic' : undefined,
      );
      expect(request?.form.has('client_secret')).toBe(method === 'client_secret_post');
    },
  );
});

describe('scopes', () => {
  it('B-20: scopes are those of the challenge, though the metadata names others', async () => {
    const there = await open({
      protection: { scopes: ['notes:read'], scopesSupported: ['notes:read', 'notes:write'] },
    });
    expect((await there.program.call()).status).toBe(200);
    expect(lastVisit(there).get('scope')).toBe('notes:read');
  });

  it('B-20: scopes are all of scopes_supported if the challenge names none', async () => {
    const there = await open({
      protection: { scopes: ['a'], scopeInChallenge: false, scopesSupported: ['a', 'b'] },
    });
    expect((await there.program.call()).status).toBe(200);
    expect(lastVisit(there).get('scope')).toBe('a b');
  });

  it('B-20: scopes are left out if no document names any, though the authorization server lists some', async () => {
    const there = await open({
      authorization: { scopesSupported: ['read', 'admin'] },
      protection: { scopeInChallenge: false },
    });
    expect((await there.program.call()).status).toBe(200);
    expect(lastVisit(there).has('scope')).toBe(false);
  });

  it('B-21: scopes grow by a step-up to the union of what was asked before and what is wanted now', async () => {
    // The metadata names both scopes: one registration is for both.
    const there = await open({ protection: { scopes: ['read'], scopesSupported: ['read', 'write'] } });
    const { program, protectedServer, authorizationServer } = there;
    expect((await program.call()).status).toBe(200);
    protectedServer.settings.scopes = ['write'];
    const { status, runs } = await program.call();
    expect({ status, runs: runs.length }).toEqual({ status: 200, runs: 1 });
    expect(lastVisit(there).get('scope')?.split(' ').toSorted()).toEqual(['read', 'write']);
    expect(authorizationServer.counts).toMatchObject({ registrations: 1, codesRedeemed: 2, refreshes: 0 });
  });

  it('B-22: scopes grow three times at most, then the user must act', async () => {
    const { program, protectedServer, authorizationServer, home, url } = await open();
    let wanted = 0;
    expect((await program.call()).status).toBe(200);
    protectedServer.always(() => ({
      status: 403,
      error: 'insufficient_scope',
      scope: `more${(wanted += 1)}`,
    }));
    const { runs, run } = await program.call();
    expect(runs.map(({ code }) => code)).toEqual([0, 0, 0, 5]);
    expectRefusal(run, 5, 'step_up_exhausted', `keyturn login ${url} --scope`);
    expect(authorizationServer.counts.authorizations).toBe(4);
    expect((await program.call()).run).toMatchObject({ code: 5 });
    expect(authorizationServer.counts.authorizations).toBe(4);

    protectedServer.always(undefined);
    await signIn(home, url);
    expect((await program.call()).status).toBe(200);
  });

  it('B-23: scopes are not asked for again if the server has granted less', async () => {
    const { program, protectedServer, authorizationServer } = await open();
    expect((await program.call()).status).toBe(200);
    authorizationServer.bend.grantedScopes = () => ['read'];
    protectedServer.settings.scopes = ['write'];
    const { runs, run } = await program.call();
    expect(runs.length).toBe(1);
    expectRefusal(run, 5, 'scope_insufficient', 'was asked for write and did not grant it');
    expectRefusal((await program.call()).run, 5, 'scope_insufficient');
    expect(authorizationServer.counts.authorizations).toBe(2);
  });

  it('B-24: scopes get offline_access if the authorization server lists it, and prompt is never forced', async () => {
    const there = await open({
      authorization: { scopesSupported: ['read', 'offline_access'], refreshTokens: 'offline_access' },
    });
    expect((await there.program.call()).status).toBe(200);
    expect(lastVisit(there).get('scope')).toBe('read offline_access');
    expect(lastVisit(there).has('prompt')).toBe(false);
    there.authorizationServer.expireAccessTokens();
    expect((await there.program.call()).status).toBe(200);
    expect(there.authorizationServer.counts).toMatchObject({ refreshes: 1, authorizations: 1 });
  });

  it('B-24: scopes get no offline_access if the authorization server does not list it', async () => {
    const there = await open({
      authorization: { scopesSupported: ['read'], refreshTokens: 'offline_access' },
    });
    expect((await there.program.call()).status).toBe(200);
    expect(lastVisit(there).get('scope')).toBe('read');
    // Without a refresh token a refused token means a new sign-in.
    there.authorizationServer.expireAccessTokens();
    expect((await there.program.call()).status).toBe(200);
    expect(there.authorizationServer.counts).toMatchObject({
      refreshes: 0,
      authorizations: 2,
      registrations: 1,
    });
  });
});

describe('refusals without end', () => {
  it('B-22: endless refusals of fresh tokens by 401 stop the refreshes after a few', async () => {
    const { program, protectedServer, authorizationServer } = await open();
    expect((await program.call()).status).toBe(200);
    protectedServer.always({ status: 401, error: 'invalid_token' });
    const { run } = await program.call();
    expectRefusal(run, 5, 'token_refused', 'rule: After 3 refused tokens');
    expect(authorizationServer.counts.refreshes).toBeLessThanOrEqual(3);
    expect(authorizationServer.counts).toMatchObject({ authorizations: 1, refreshReuses: 0 });
  });

  it('B-22: endless refusals by 403 for a scope that the token has set off no further sign-in', async () => {
    const { program, protectedServer, authorizationServer } = await open();
    expect((await program.call()).status).toBe(200);
    protectedServer.always({ status: 403, error: 'insufficient_scope', scope: 'read' });
    expect((await program.call()).status).toBe(403);
    expect(authorizationServer.counts.authorizations).toBe(1);
  });
});

describe('the issuer in the answer (RFC 9207)', () => {
  it.each([
    ['is there and announced', true, undefined, 200],
    ['is neither there nor announced', false, undefined, 200],
    ['is there though not announced', false, 'right', 200],
  ] as const)(
    'B-25: the issuer in the answer is accepted if it %s',
    async (_how, issInResponse, iss, status) => {
      const { program, authorizationServer } = await open({ authorization: { issInResponse } });
      authorizationServer.bend.authorizeResponse = (parameters) => {
        if (iss === 'right') parameters.set('iss', authorizationServer.issuer);
      };
      expect((await program.call()).status).toBe(status);
    },
  );

  it.each<[string, boolean, (issuer: string) => string | undefined]>([
    ['is missing though announced', true, () => undefined],
    ['is another', true, () => 'https://evil.example'],
  ])(
    'B-25: the issuer in the answer is refused if it %s, and the code goes nowhere',
    async (_how, issInResponse, wrong) => {
      const { program, authorizationServer } = await open({ authorization: { issInResponse } });
      authorizationServer.bend.authorizeResponse = (parameters) => {
        const iss = wrong(authorizationServer.issuer);
        if (iss === undefined) parameters.delete('iss');
        else parameters.set('iss', iss);
      };
      const { run } = await program.call();
      expectRefusal(run, 5, 'issuer_mismatch', 'rule: RFC 9207 §2.4');
      expect(authorizationServer.counts.tokenRequests).toBe(0);
      // Nothing else of such an answer is shown.
      expect(run.stderr).not.toContain('evil.example');
    },
  );
});

describe('the earlier revision', () => {
  const noMetadata = { oneOrigin: true, protection: { metadataAt: [], metadataUrl: undefined } } as const;

  it('B-28: a server of the earlier revision has its metadata at its own origin, and gets the protocol version', async () => {
    const there = await open(noMetadata);
    expect((await there.program.call()).status).toBe(200);
    const [request] = there.authorizationServer.server.asked('/.well-known/oauth-authorization-server');
    expect(request?.headers['ctx-protocol-version']).toBe('2025-03-26');
    expect(lastVisit(there).get('resource')).toBe(there.url);
    const { signIns: grants } = await askBroker(there.home, 'signIn.list', {});
    expect(grants.filter(({ endpoint }) => endpoint === there.url)).toMatchObject([
      { issuer: there.authorizationServer.issuer },
    ]);
  });

  it('B-29: a server of the earlier revision has the default endpoints if there is no metadata at all, with PKCE all the same', async () => {
    const there = await open({ ...noMetadata, authorization: { metadataAt: [], issInResponse: false } });
    expect((await there.program.call()).status).toBe(200);
    expect(lastVisit(there).get('code_challenge_method')).toBe('S256');
    expect(there.authorizationServer.counts).toMatchObject({ registrations: 1, codesRedeemed: 1 });
    there.authorizationServer.expireAccessTokens();
    expect((await there.program.call()).status).toBe(200);
    expect(there.authorizationServer.counts).toMatchObject({ refreshes: 1, authorizations: 1 });
  });

  it('B-29: the earlier revision is not assumed if the metadata can’t be had only at the moment', async () => {
    const { program, authorizationServer } = await open(noMetadata);
    authorizationServer.server.on('GET', '/.well-known/oauth-authorization-server', { status: 503 });
    expectRefusal((await program.call()).run, 6, 'authorization_server_unreachable');
    expect(authorizationServer.counts).toMatchObject({ registrations: 0, authorizations: 0 });
  });
});

describe('a protected server that moves to another authorization server', () => {
  it('B-30: a server that moves to another issuer gets a new registration and a sign-in that names both, and nothing of the old one', async () => {
    const { home, world, program, protectedServer, authorizationServer: old, url } = await openAlone();
    expect((await program.call()).status).toBe(200);
    const next = await world.openAuthorizationServer({ plain: true });
    protectedServer.settings.authorizationServers = [next];
    // The sign-in lasts until the command has told of it.
    next.server.on('GET', '/authorize', async () => {
      await until('the command names both', () => home.story.includes('used to sign in at'));
      return undefined;
    });
    const called = program.call();
    // The permission names the grant at the old one: the owner allows the new grant.
    const { id } = await questionOf(home, 'allow');
    await answer(home, id, 'yes');
    const { status, run } = await called;
    expect(status).toBe(200);
    expect(run.stderr).toContain(
      `the server used to sign in at ${old.issuer}, and now names ${next.issuer}.`,
    );
    expect(next.counts).toMatchObject({ registrations: 1, codesRedeemed: 1 });
    const [client] = [...old.clients.keys()];
    const secrets = [client, ...old.refreshTokens, ...old.accessTokens.map(({ token }) => token)];
    for (const secret of secrets) expect(next.server.holding(secret ?? '')).toEqual([]);
    expect((await askBroker(home, 'signIn.list', {})).signIns).toMatchObject([
      { endpoint: url, issuer: old.issuer, state: 'signInRequired' },
      { endpoint: url, issuer: next.issuer, state: 'active' },
    ]);
  });

  it('B-30: a server that moves to another issuer has no use for a client that was entered for the old one, and the refusal says so', async () => {
    const { home, world, program, protectedServer, authorizationServer: old } = await open();
    const redirectUri = await enter(home, { issuer: old.issuer, clientId: 'by-hand' });
    old.addClient({ clientId: 'by-hand', redirectUris: [redirectUri] });
    expect((await program.call()).status).toBe(200);
    const next = await world.openAuthorizationServer({ plain: true, registration: 'absent' });
    protectedServer.settings.authorizationServers = [next];
    const { run } = await program.call();
    expectRefusal(run, 5, 'issuer_mismatch', `keyturn oauth-client add ${next.issuer} --client-id ID`);
    expect(next.server.holding('by-hand')).toEqual([]);
  });
});

describe('the extensions', () => {
  it('B-33: client credentials with a secret: a token without a browser', async () => {
    const { home, program, authorizationServer: server, url } = await open();
    server.addClient({ clientId: 'bot', authMethod: 'client_secret_basic', secret: 'hush' });
    const entry = { clientId: 'bot', clientSecret: 'hush', grantType: 'client_credentials' } as const;
    await enter(home, { issuer: server.issuer, ...entry });
    expect((await program.call()).status).toBe(200);
    const [request] = server.server.asked('/token');
    expect(request?.form.get('resource')).toBe(url);
    expect(server.counts).toMatchObject({ clientCredentials: 1, authorizations: 0, registrations: 0 });
  });

  it('B-33: client credentials with a private key: the assertion is for the issuer', async () => {
    const { home, program, authorizationServer: server } = await open();
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    mkdirSync(home.folder, { recursive: true, mode: 0o700 });
    const file = path.join(home.folder, 'bot.pem');
    writeFileSync(file, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    const jwk = publicKey.export({ format: 'jwk' });
    server.addClient({ clientId: 'bot', authMethod: 'private_key_jwt', jwk });
    const client = ['--client-id=bot', '--private-key', file, '--alg=ES256'];
    const args = ['oauth-client', 'add', server.issuer, ...client];
    await home.ok([...args, '--grant-type', 'client_credentials']);
    expect((await program.call()).status).toBe(200);
    expect(server.counts).toMatchObject({ clientCredentials: 1, authorizations: 0 });
  });

  it('B-34: enterprise-managed authorization: the ID token becomes an assertion, and that a token', async () => {
    const { home, world, program, authorizationServer: server, url } = await open();
    const provider = await world.openAuthorizationServer({ plain: true });
    server.settings.identityProviders = [provider];
    server.addClient({ clientId: 'desk', authMethod: 'client_secret_basic', secret: 'hush' });
    provider.addClient({ clientId: 'desk-there', clientIdElsewhere: 'desk' });
    const file = path.join(home.folder, 'id-token');
    writeFileSync(file, `${provider.idToken('desk-there')}\n`, { mode: 0o600 });
    const client = ['--client-id=desk', '--client-secret-stdin', '--grant-type=id-jag'];
    const args = ['oauth-client', 'add', server.issuer, ...client];
    const elsewhere = [`--idp=${provider.issuer}`, '--idp-client-id=desk-there', `--id-token-file=${file}`];
    await home.ok([...args, ...elsewhere], { stdin: 'hush' });
    expect((await program.call()).status).toBe(200);
    const [exchange] = provider.server.asked('/token');
    expect(exchange?.form.get('audience')).toBe(server.issuer);
    expect(exchange?.form.get('resource')).toBe(url);
    expect(server.counts).toMatchObject({ jwtBearers: 1, authorizations: 0 });
  });
});
