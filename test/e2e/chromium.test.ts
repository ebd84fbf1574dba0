/** The consent page, clicked in a real Chromium: once for each way that Keyturn becomes known to a server. */
import { describe, expect, it } from 'vitest';
import { programInBentWorld } from '../support/bent-home.ts';

const clientUrl = 'https://keyturn.example/client.json';

const open = (options: Parameters<typeof programInBentWorld>[0] = {}) =>
  programInBentWorld({
    browser: 'chromium-agent',
    ...options,
    authorization: { consent: 'page', ...options.authorization },
  });

describe('a person who clicks "Allow" in Chromium', () => {
  it('signs in with a client that was entered by hand', async () => {
    const { home, program, authorizationServer } = await open({ authorization: { registration: 'absent' } });
    const { issuer } = authorizationServer;
    const redirectUri = (await home.ok(['register', issuer, '--client-id', 'by-hand'])).trim();
    authorizationServer.addClient({ clientId: 'by-hand', redirectUris: [redirectUri] });
    expect((await program.call()).status).toBe(200);
    expect(authorizationServer.counts).toMatchObject({
      registrations: 0,
      authorizations: 1,
      codesRedeemed: 1,
    });
    // The page was shown, and its form was sent by a click.
    expect(authorizationServer.server.asked('/authorize').map(({ method }) => method)).toEqual([
      'GET',
      'POST',
    ]);
  });

  it('signs in with a client ID metadata document', async () => {
    const { program, authorizationServer } = await open({
      authorization: { clientIdMetadataDocuments: true },
      env: { KEYTURN_CLIENT_METADATA_URL: clientUrl },
    });
    expect((await program.call()).status).toBe(200);
    expect(authorizationServer.counts).toMatchObject({
      registrations: 0,
      authorizations: 1,
      codesRedeemed: 1,
    });
    const visits = authorizationServer.server.asked('/authorize');
    expect(visits.map(({ method, query }) => [method, query.get('client_id')])).toEqual([
      ['GET', clientUrl],
      ['POST', clientUrl],
    ]);
  });

  it('signs in with a dynamic registration, after which no browser is needed', async () => {
    const { program, authorizationServer } = await open();
    expect((await program.call()).status).toBe(200);
    authorizationServer.expireAccessTokens();
    expect((await program.call()).status).toBe(200);
    expect(authorizationServer.counts).toMatchObject({ registrations: 1, authorizations: 1, refreshes: 1 });
    expect(authorizationServer.server.asked('/authorize').map(({ method }) => method)).toEqual([
      'GET',
      'POST',
    ]);
  });
});

describe('a person who clicks "Deny" in Chromium', () => {
  it('is believed: the command says so, and no second page opens by itself', async () => {
    const { program, authorizationServer } = await open({ browserFlags: ['--deny'] });
    const { run } = await program.call();
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('reason: access_denied');
    expect((await program.call()).run).toMatchObject({ code: 3, stdout: '' });
    expect(authorizationServer.server.asked('/authorize').map(({ method }) => method)).toEqual([
      'GET',
      'POST',
    ]);
    expect(authorizationServer.counts.codesRedeemed).toBe(0);
  });
});
