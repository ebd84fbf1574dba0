/** The clients of ours at issuers: what `keyturn oauth-client list` shows of them, and the end of one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { homeInBentWorld, openSharedHome, type SharedHome } from '../../support/bent/home.ts';
import type { ResultOf } from '../../../src/ipc/protocol/methods.ts';
import { newHome, type TestHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import {
  allow,
  enter,
  signIn,
  startBroker,
  stopBroker,
  tokenAt,
  unlock,
} from '../../support/homes/owner-acts.ts';

/** One broker for most tests: each has servers, or an issuer, of its own. */
let shared: SharedHome;
beforeAll(async () => {
  shared = await openSharedHome();
});
afterAll(() => shared.close());

const open = () => homeInBentWorld({ shared });

const issuer = 'https://login.example';
const secret = 'only-the-vault-may-have-this';

type Client = ResultOf<'oauthClient.list'>['oauthClients'][number];

const byHand = { issuer, clientId: 'by-hand', clientSecret: secret };

/** Those at this issuer. */
async function listed(home: TestHome, at: string): Promise<readonly Client[]> {
  const { oauthClients: registrations } = await askBroker(home, 'oauthClient.list', {});
  return registrations.filter((client) => client.issuer === at);
}

async function grantAt(home: TestHome, url: string) {
  const { signIns: grants } = await askBroker(home, 'signIn.list', {});
  return grants.find(({ endpoint }) => endpoint === url);
}

describe('the list of clients', () => {
  it('the list of clients has those that were entered and those that were registered by themselves, and never a secret', async () => {
    const { home, authorizationServer, url } = await open();
    expect(await home.keyturn(['oauth-client', 'list'])).toMatchObject({ code: 0 });
    await signIn(home, url);
    const redirectUri = await enter(home, byHand);
    await home.ok(
      ['oauth-client', 'add', 'https://bots.example', '--client-id', 'bot', '--client-secret-stdin'].concat(
        '--grant-type=client_credentials',
        '--auth-method=client_secret_post',
      ),
      { stdin: secret },
    );
    const own = authorizationServer.issuer;
    const registeredAt = expect.any(Number) as number;
    const clients = await home.json<Client[]>('oauth-client', 'list');
    const issuers = [own, issuer, 'https://bots.example'];
    expect(clients.filter((client) => issuers.includes(client.issuer))).toEqual([
      {
        issuer: own,
        clientId: expect.any(String) as string,
        source: 'dynamic',
        authMethod: 'none',
        redirectUri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+/) as string,
        registeredAt,
      },
      {
        issuer,
        clientId: 'by-hand',
        source: 'preregistered',
        authMethod: 'client_secret_basic',
        redirectUri,
        registeredAt,
      },
      {
        issuer: 'https://bots.example',
        clientId: 'bot',
        source: 'preregistered',
        authMethod: 'client_secret_post',
        grantType: 'client_credentials',
        registeredAt,
      },
    ]);
    const text = await home.ok(['oauth-client', 'list']);
    const [header = '', ...rows] = text.split('\n');
    const [dynamic = '', entered = '', bot = ''] = issuers.map((one) =>
      rows.find((row) => row.startsWith(`${one} `)),
    );
    expect(header).toMatch(
      /^ISSUER +CLIENT ID +REGISTERED +HOW +STATE +AUTH METHOD +GRANT TYPE +REDIRECT URI$/,
    );
    expect(dynamic).toMatch(/automatically +in use +none +authorization_code +http/);
    for (const part of [issuer, 'by-hand', ' added ', redirectUri]) expect(entered).toContain(part);
    expect(bot).toMatch(/client_secret_post +client_credentials +-$/);
    expect(text + JSON.stringify(clients)).not.toContain(secret);
  });

  it('the list of clients is shown while the vault is locked, and no client can be removed then', async () => {
    const home = newHome({ env: { KEYTURN_VAULT: 'sealed-file' } });
    await startBroker(home);
    await unlock(home, 'correct horse battery');
    await enter(home, byHand);
    // The next broker begins locked: what it shows it could not verify yet.
    await stopBroker(home);
    expect(await home.json('oauth-client', 'list')).toMatchObject([{ issuer, clientId: 'by-hand' }]);
    const refused = await home.keyturn(['oauth-client', 'remove', issuer]);
    expect(refused).toMatchObject({ code: 7, stdout: '' });
    expect(refused.stderr).toContain('reason: locked');
    expect(await listed(home, issuer)).toHaveLength(1);
  });

  it('keyturn oauth-client refuses what a verb doesn’t take, before it asks the person', async () => {
    const home = newHome();
    for (const args of [
      ['add'],
      ['add', '--client-id=a'],
      ['add', '--json', issuer, '--client-id=a'],
      ['list', issuer],
      ['list', '--client-id=a'],
      ['remove'],
      ['remove', issuer, '--redirect-uri=http://127.0.0.1:1/'],
    ] as const) {
      const run = await home.keyturn(['oauth-client', ...args]);
      expect(run, args.join(' ')).toMatchObject({ code: 2, stdout: '' });
      expect(run.stderr, args.join(' ')).toContain(`keyturn oauth-client ${args[0]} --help`);
    }
    expect(home.brokers()).toEqual([]);
  });
});

describe('a removed client', () => {
  it('a removed client is gone with its secret, and the audit log says so', async () => {
    const { home } = shared;
    const left = 'https://left.example';
    await enter(home, { ...byHand, issuer: left });
    expect(await home.ok(['oauth-client', 'remove', left])).toBe('');
    expect(await listed(home, left)).toEqual([]);
    const { rows } = await askBroker(home, 'audit.tail', { count: 20 });
    expect(rows.filter((row) => row.event === 'oauthClient' && row.issuer === left)).toMatchObject([
      { event: 'oauthClient', outcome: 'entered', issuer: left },
      { event: 'oauthClient', outcome: 'removed', issuer: left },
    ]);
    for (const [hint, ...more] of [
      ['`keyturn oauth-client` lists'],
      ['`keyturn oauth-client list` shows', '--client-id', 'by-hand'],
    ] as const) {
      const again = await home.keyturn(['oauth-client', 'remove', left, ...more]);
      expect(again).toMatchObject({ code: 2, stdout: '' });
      expect(again.stderr).toContain(`hint: ${hint} `);
      expect(again.stderr).toContain('reason: not_found');
    }
  });

  it('a client is kept while a grant is refreshed with it, and the refusal names the grant; the next sign-in has another client', async () => {
    const { home, authorizationServer, url } = await open();
    const own = authorizationServer.issuer;
    await signIn(home, url);
    const [{ clientId } = { clientId: '' }] = await listed(home, own);
    const grant = await grantAt(home, url);
    const remove = ['oauth-client', 'remove', own, `--client-id=${clientId}`];
    const refused = await home.keyturn(remove);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(`still needed by: "${url}"`);
    expect(refused.stderr).toContain(`keyturn logout ${grant?.id}`);
    expect(refused.stderr).toContain('reason: conflict');
    expect(await listed(home, own)).toHaveLength(1);
    // Without an id it is the one that was entered, and there is none.
    expect((await home.keyturn(['oauth-client', 'remove', own])).stderr).toContain('No client was added');

    await askBroker(home, 'signIn.revoke', { resource: url });
    await home.ok(remove);
    expect(await listed(home, own)).toEqual([]);
    await signIn(home, url);
    const [next] = await listed(home, own);
    expect(next?.clientId).not.toBe(clientId);
  });

  it('a client is kept while its issuer has still to be told of an ended grant, since no other client may tell it', async () => {
    const { home, url, authorizationServer } = await open();
    const own = authorizationServer.issuer;
    await signIn(home, url);
    const [{ clientId } = { clientId: '' }] = await listed(home, own);
    const remove = ['oauth-client', 'remove', own, `--client-id=${clientId}`];
    const back = authorizationServer.server.on('*', '*', 'destroy');
    await askBroker(home, 'signIn.revoke', { resource: url });
    const refused = await home.keyturn(remove);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /its issuer is not reached yet[^]*hint: They have ended here[^]*reason: conflict/,
    );
    back();
    expect(await home.ok(['logout', url])).toContain('confirmed by the authorization server');
    await home.ok(remove);
    expect(await listed(home, own)).toEqual([]);
  });
});

describe('a client that takes the place of another', () => {
  /** A grant of a client that was entered by hand, with this secret. */
  async function enteredHome() {
    const there = await open();
    const { home, authorizationServer, url } = there;
    const client = { clientId: 'by-hand', authMethod: 'client_secret_basic' } as const;
    const entering = (clientId: string, stdin: string) =>
      home.keyturn(
        [
          'oauth-client',
          'add',
          authorizationServer.issuer,
          `--client-id=${clientId}`,
          '--client-secret-stdin',
        ],
        {
          stdin,
        },
      );
    const redirectUri = await enter(home, { ...byHand, issuer: authorizationServer.issuer });
    authorizationServer.addClient({ ...client, secret, redirectUris: [redirectUri] });
    await allow(home, 'cli', url);
    await signIn(home, url);
    const token = await tokenAt(home, url);
    // A token that its server refused is of no use any more: the next one comes by a refresh.
    const refreshed = () =>
      home.keyturn(['token', url, '--status', '401', '--rejected-token-stdin', '--no-input'], {
        stdin: token,
      });
    const ids = async (): Promise<string[]> =>
      (await listed(home, authorizationServer.issuer)).map(({ clientId }) => clientId);
    return { ...there, client, entering, redirectUri, refreshed, ids };
  }

  it('a client that takes the place of another is refused while a grant needs that one, and entered once none does', async () => {
    const { home, entering, refreshed, ids, url } = await enteredHome();
    const grant = await grantAt(home, url);
    const refused = await entering('another', 'another-secret-of-mine');
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(`The client "by-hand" at`);
    expect(refused.stderr).toContain(`is still needed by: "${url}"`);
    expect(refused.stderr).toContain(`keyturn logout ${grant?.id}; then enter the other client.`);
    expect(refused.stderr).toContain('reason: conflict');
    expect(await ids()).toEqual(['by-hand']);
    expect(await refreshed()).toMatchObject({ code: 0 });

    await askBroker(home, 'signIn.revoke', { resource: url });
    expect(await entering('another', 'another-secret-of-mine')).toMatchObject({ code: 0 });
    expect(await ids()).toEqual(['another']);
  });

  it('the same client with another secret keeps its grants and its redirect URI', async () => {
    const { authorizationServer, client, entering, redirectUri, refreshed, ids } = await enteredHome();
    const next = 'the-secret-that-counts-from-now-on';
    authorizationServer.addClient({ ...client, secret: next, redirectUris: [redirectUri] });
    expect(await refreshed()).not.toMatchObject({ code: 0 });
    expect(await entering('by-hand', next)).toMatchObject({ code: 0, stdout: `${redirectUri}\n` });
    expect(await ids()).toEqual(['by-hand']);
    expect(await refreshed()).toMatchObject({ code: 0 });
  });
});
