/** Ways to sign in besides the browser on this machine, and the document that stands for Keyturn. */
import { describe, expect, it } from 'vitest';
import { homeInBentWorld, programInBentWorld } from '../../support/bent/home.ts';
import { newHome, type Running, type TestHome, until } from '../../support/home.ts';
import { askBroker, questionsAt } from '../../support/homes/ask-broker.ts';
import { allow, answer, enter, signIn, startBroker, tokenAt } from '../../support/homes/owner-acts.ts';

/** The one question that waits, as another process sees it. */
async function onlyQuestion(home: TestHome, kind: string) {
  const question = await until(`a question of kind ${kind}`, async () => {
    const waiting = await questionsAt(home);
    return waiting.length === 1 && waiting[0]?.kind === kind ? waiting[0] : undefined;
  });
  const { id, code = '', url = '' } = question;
  return { id, code, url };
}

describe('login --device', () => {
  const device = { authorization: { deviceAuthorization: true } } as const;

  it('B-27: login --device signs in by a code that the person enters elsewhere, and only the person sees the code', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld(device);
    await startBroker(home);
    await allow(home, 'cli', url);
    const signingIn = home.start(['login', url, '--device', '--account', 'elsewhere', '--json']);
    const { code, url: page } = await onlyQuestion(home, 'device');
    expect(code).toMatch(/^[A-Z]{4}-[A-Z]{4}$/);
    expect(await home.ok(['request', 'list'])).toContain(`enter ${code} at`);

    // A program that asks at the same time gets a token by the browser here, and not a letter of the code.
    const other = await home.keyturn(['token', url]);
    expect(other.code).toBe(0);
    expect(other.stdout + other.stderr).not.toContain(code);

    await signingIn.says(`enter ${code}\n${page}\n`);
    authorizationServer.approveDevice(code);
    const { code: exit, stdout } = await signingIn.ended;
    expect(exit).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ account: 'elsewhere', state: 'active', scope: 'read' });
    expect(authorizationServer.counts.devicePolls).toBeGreaterThan(0);
    const [request] = authorizationServer.server.asked('/device_authorization');
    expect(request?.form.get('resource')).toBe(url);
  });

  it('login --device exits 5 when the person says no there', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld(device);
    const signingIn = home.start(['login', url, '--device']);
    authorizationServer.denyDevice((await onlyQuestion(home, 'device')).code);
    const run = await signingIn.ended;
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('reason: access_denied');
  });

  it('login --device can be cancelled from another terminal', async () => {
    const { home, url } = await homeInBentWorld(device);
    const signingIn = home.start(['login', url, '--device']);
    await home.ok(['request', 'deny', (await onlyQuestion(home, 'device')).id, '--remember']);
    const run = await signingIn.ended;
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('was cancelled');
  });

  it('login --device exits 3 when no person entered the code in time, and says that the sign-in is not finished', async () => {
    const { home, url } = await homeInBentWorld(device);
    const run = await home.keyturn(['login', url, '--device', '--timeout', '10s']);
    expect(run).toMatchObject({ code: 3, stdout: '' });
    expect(run.stderr).toContain('reason: login_pending');
  });

  it('B-27: login --device is refused if the server does not offer it, with the other way in the hint', async () => {
    const { home, url } = await homeInBentWorld();
    const run = await home.keyturn(['login', url, '--device']);
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('offers no sign-in on another device');
    expect(run.stderr).toContain('rule: RFC 8628 §4');
    expect(run.stderr).toContain('keyturn login URL --paste');
  });
});

describe('login --new-client', () => {
  it('Y-5: login --new-client signs in at a server that has forgotten Keyturn, also while another sign-in waits there', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld();
    await startBroker(home);
    await signIn(home, url);
    authorizationServer.clients.clear();
    // The browser shows an error page, and comes back from it with nothing.
    const first = home.start(['login', url]);
    await first.says(`If the page shows an error: keyturn login ${url} --new-client`);
    const second = home.start(['login', url]);
    await second.says('waits already');
    await second.says((await onlyQuestion(home, 'login')).url);
    await home.ok(['login', url, '--new-client']);
    expect(await first.ended).toMatchObject({ code: 0 });
    expect(await second.ended).toMatchObject({ code: 0 });
    expect(authorizationServer.counts.registrations).toBe(2);
    const { oauthClients: registrations } = await askBroker(home, 'oauthClient.list', {});
    expect(registrations.map(({ state }) => state)).toEqual(['replaced', undefined]);
  });
});

describe('a client that was entered by hand, where its page shows an error', () => {
  it('if the page of an entered client shows an error, login and request list name the command that enters one, not --new-client', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld();
    const { issuer } = authorizationServer;
    await startBroker(home);
    await enter(home, { issuer, clientId: 'unknown-there' });
    const login = home.start(['login', url]);
    await login.says(`keyturn login ${url} --client-id ID`);
    const shown = await home.ok(['request', 'list']);
    expect(shown).toContain(`keyturn login ${url} --client-id ID`);
    expect(shown).not.toContain('--new-client');
    await answer(home, (await onlyQuestion(home, 'login')).id, 'no');
    const run = await login.ended;
    expect(run.code).toBe(5);
    expect(run.stderr).not.toContain('--new-client');
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

  it('B-26: login --paste takes the address that a browser elsewhere ended at, refuses wrong ones before it, and shows none', async () => {
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
    await allow(home, 'cli', url);
    await tokenAt(home, url);
  });

  it('login --paste ends by itself when the browser reaches this machine after all, though standard input stays open', async () => {
    const there = await homeInBentWorld();
    const { signingIn, address } = await waiting(there);
    expect((await there.world.fetch(address)).status).toBe(200);
    expect(await signingIn.ended).toMatchObject({ code: 0, stdout: '' });
  });

  it('login --paste is cancelled if standard input ends without an address of it', async () => {
    const { home, url } = await homeInBentWorld();
    const run = await home.keyturn(['login', url, '--paste'], { stdin: '\nnot an address\n' });
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('That is not the address a sign-in ends at');
    expect(run.stderr).toContain('standard input ended');
    expect(run.stderr).toContain('reason: login_failed');
  });

  it('login --paste shows its own address only, though a page of another request waits for the same server', async () => {
    const there = await homeInBentWorld({ env: { KEYTURN_BROWSER: 'true' } });
    const { home, url, world } = there;
    const other = home.start(['login', url]);
    const { url: firstPage, id } = await onlyQuestion(home, 'login');
    const signingIn = home.start(['login', url, '--paste'], { stdinStaysOpen: true });
    await signingIn.says('paste that whole address here:');
    const own = (await questionsAt(home)).find((question) => question.id !== id)?.url ?? '';
    const reply = await world.fetch(own, { redirect: 'manual' });
    signingIn.types(reply.headers.get('location') ?? '');
    const run = await signingIn.ended;
    expect(run.code).toBe(0);
    expect(run.stderr).toContain(own);
    expect(run.stderr).not.toContain(firstPage);
    await answer(home, id, 'no');
    expect(await other.ended).toMatchObject({ code: 5 });
  });

  it('login --paste excludes --device', async () => {
    const run = await newHome().keyturn(['login', 'https://notes.example/mcp', '--paste', '--device']);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain('--device and --paste exclude each other');
  });
});

describe('login --issuer and --account', () => {
  it('B-31: login --issuer chooses among several authorization servers, and refuses one that the server does not name', async () => {
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

  it('B-32: login --account keeps two accounts at one server apart, with a token of its own for each', async () => {
    const { home, authorizationServer, url } = await homeInBentWorld();
    await startBroker(home);
    await allow(home, 'cli', url);
    await home.ok(['login', url, '--account', 'work']);
    authorizationServer.settings.subject = 'bob';
    await home.ok(['login', url, '--account', 'private']);
    const [first] = authorizationServer.server.asked('/authorize');
    // A label is the person's own name for the account: it tells the server nothing.
    expect(first?.query.get('login_hint')).toBeNull();
    const tokenOf = async (account: string): Promise<string> =>
      (await home.ok(['token', url, '--account', account, '--no-input'])).trim();
    const unasked = await home.keyturn(['token', url, '--account', 'work', '--no-input']);
    expect(unasked).toMatchObject({ code: 3, stdout: '' });
    expect(unasked.stderr).toContain(`keyturn app allow cli ${url} --account "work"`);
    for (const account of ['work', 'private']) {
      const ours = { app: 'cli', resource: url, account, decision: 'allow' } as const;
      await askBroker(home, 'permission.set', ours);
    }
    expect(authorizationServer.verify(await tokenOf('work'))?.subject).toBe('alice');
    expect(authorizationServer.verify(await tokenOf('private'))?.subject).toBe('bob');
    const { signIns: grants } = await askBroker(home, 'signIn.list', {});
    expect(grants).toMatchObject([{ account: 'work' }, { account: 'private' }]);
  });
});

describe('keyturn oauth-client metadata', () => {
  const clientUrl = 'https://keyturn.example/client.json';

  it('B-16: keyturn oauth-client metadata prints a document by the rules, by which a server then knows Keyturn without registration', async () => {
    const { home, program, authorizationServer, url } = await programInBentWorld({
      authorization: { clientIdMetadataDocuments: true, redirectMatching: 'anyLoopbackPort' },
      env: { KEYTURN_CLIENT_METADATA_URL: clientUrl },
    });
    const text = await home.ok(['oauth-client', 'metadata', clientUrl]);
    authorizationServer.settings.hosted = new Map([[clientUrl, text]]);
    const document = JSON.parse(text) as {
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
  ])('keyturn oauth-client metadata refuses %s, which no server would take', async (bad) => {
    const run = await newHome().keyturn(['oauth-client', 'metadata', bad]);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain("can't be the URL of a client ID metadata document");
  });
});
