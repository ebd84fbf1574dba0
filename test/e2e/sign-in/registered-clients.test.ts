/** The clients of ours at issuers: what `keyturn oauth-client list` shows of them, and the end of one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { homeInBentWorld, openSharedHome, type SharedHome } from '../../support/bent/home.ts';
import type { ResultOf } from '../../../src/ipc/protocol/methods.ts';
import { type TestHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, enter, signIn, tokenAt } from '../../support/homes/owner-acts.ts';

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

describe('a removed client', () => {
  it('is refused while its issuer has still to be told of an ended sign-in', async () => {
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
      /its authorization server is not reached yet[^]*hint: They have ended here[^]*reason: conflict/,
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

  it('is refused while a sign-in needs that one', async () => {
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

  it('keeps sign-ins and redirect URI if only its secret changes', async () => {
    const { authorizationServer, client, entering, redirectUri, refreshed, ids } = await enteredHome();
    const next = 'the-secret-that-counts-from-now-on';
    authorizationServer.addClient({ ...client, secret: next, redirectUris: [redirectUri] });
    expect(await refreshed()).not.toMatchObject({ code: 0 });
    expect(await entering('by-hand', next)).toMatchObject({ code: 0, stdout: `${redirectUri}\n` });
    expect(await ids()).toEqual(['by-hand']);
    expect(await refreshed()).toMatchObject({ code: 0 });
  });
});
