/** What the user sees and ends: login, list, clients, status, revoke; and a registration of the user's own. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { filesBelow, homeInWorld } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, signIn, startBroker, tokenAt } from '../../support/homes/owner-acts.ts';
import { verdictOn } from '../../support/servers/notebook.ts';
import { freeRedirect } from '../../support/servers/port.ts';
import type { TestWorld } from '../../support/world.ts';

describe('a grant', () => {
  it('a grant is made by login, and shown as text and as JSON, never with a token', async () => {
    const { home, world, resource } = await homeInWorld();
    const { issuer } = world.authorizationServer;
    expect(await home.keyturn(['sign-in', 'list'])).toMatchObject({ code: 0, stdout: '' });
    const login = JSON.parse(await home.ok(['login', resource, '--account', 'work', '--json'])) as unknown;
    expect(login).toMatchObject({ resource, issuer, account: 'work', scope: 'notes:read', state: 'active' });

    await allow(home, 'cli', resource);
    const token = (await home.ok(['token', resource, '--account', 'work'])).trim();
    const text = await home.ok(['sign-in', 'list']);
    const [header = '', row = ''] = text.split('\n');
    expect(header).toMatch(/^ID +SERVER +AUTHORIZATION SERVER +ACCOUNT +STATE +TOKEN UNTIL +SCOPES +APPS$/);
    for (const part of [resource, issuer, 'work', 'active', 'notes:read', 'cli']) expect(row).toContain(part);
    const grants = await home.json<unknown[]>('sign-in', 'list');
    expect(grants).toMatchObject([{ endpoint: resource, issuer, account: 'work', apps: ['cli'] }]);
    expect(text + JSON.stringify(grants)).not.toContain(token);
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 1, refreshes: 0 });
  });

  it('a grant ends with a receipt from its issuer, and what was handed out ends with it', async () => {
    const { home, world, resource } = await homeInWorld();
    await startBroker(home);
    await allow(home, 'cli', resource);
    await signIn(home, resource);
    const token = await tokenAt(home, resource);
    expect(await home.ok(['logout', resource])).toBe(
      `${resource} at ${world.authorizationServer.issuer}: confirmed by the authorization server\n`,
    );
    expect((await verdictOn(world, token)).status).toBe(401);
    expect(world.counts().authorizationServer.revocations).toBeGreaterThan(0);
    const { signIns: grants } = await askBroker(home, 'signIn.list', {});
    expect(grants).toMatchObject([{ state: 'revoked', receipt: 'confirmed' }]);

    const refused = await home.keyturn(['token', resource]);
    expect(refused).toMatchObject({ code: 3, stdout: '' });
    expect(refused.stderr).toContain('rule: Only you can renew a sign-in that you revoked');
    // Nothing is left to end; saying so twice is no failure.
    expect(await home.ok(['logout', resource, '--json'])).toBe('[]\n');
    const again = await home.keyturn(['logout', resource]);
    expect(again).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('nothing was left to revoke'),
    });

    await signIn(home, resource);
    expect(await home.keyturn(['token', resource])).toMatchObject({ code: 0 });
  });

  it('a grant is not called missing if only the account is mistyped: the refusal names the accounts', async () => {
    const { home, resource } = await homeInWorld();
    await startBroker(home);
    const grant = await signIn(home, resource, { account: 'work' });
    for (const command of [
      ['sign-in', 'show', resource],
      ['sign-in', 'show', `${resource}/`],
      ['sign-in', 'show', grant.id],
      ['logout', resource],
    ] as const) {
      const run = await home.keyturn([...command, '--account', 'wrok']);
      expect(run).toMatchObject({ code: 2, stdout: '' });
      expect(run.stderr).toMatch(
        /No grant for "[^"]+" has the account "wrok"\.\n {2}hint: The accounts there: "work"\.\n/,
      );
    }
    for (const named of [{ resource: `${resource}/` }, { id: grant.id }]) {
      const revoking = askBroker(home, 'signIn.revoke', { ...named, account: 'wrok' });
      await expect(revoking).rejects.toMatchObject({ hint: 'The accounts there: "work".' });
    }
    expect(await home.ok(['logout', resource, '--account', 'work'])).toContain('confirmed');
  });

  it('a grant is ended by its id too, or by the beginning of it', async () => {
    const { home, resource } = await homeInWorld();
    await startBroker(home);
    const grant = await signIn(home, resource);
    for (const command of [['sign-in', 'show'], ['logout']]) {
      const mistyped = await home.keyturn([...command, `${grant.id.slice(0, 6)}x`]);
      expect(mistyped).toMatchObject({ code: 2, stdout: '' });
      expect(mistyped.stderr).toContain(
        'hint: An id is 16 hexadecimal digits, as `keyturn sign-in list` shows them;',
      );
      expect(mistyped.stderr).toContain(`There is ${grant.id} (${resource}, account `);
    }
    const typed = grant.id.slice(0, 6);
    const receipts = JSON.parse(await home.ok(['logout', typed, '--json'])) as unknown;
    expect(receipts).toMatchObject([{ id: grant.id, resource, receipt: 'confirmed' }]);
    expect(await home.keyturn(['logout', '0123456789abcdef'])).toMatchObject({ code: 2, stdout: '' });
  });

  it('a grant wants a new sign-in when the issuer ended it, and says so to a caller that can’t', async () => {
    const { home, world, resource } = await homeInWorld();
    await startBroker(home);
    await allow(home, 'cli', resource);
    await signIn(home, resource);
    const old = await tokenAt(home, resource);
    world.endGrants();
    const args = ['token', resource, '--rejected-token-stdin', '--no-input'];
    const refused = await home.keyturn(args, { stdin: old });
    expect(refused).toMatchObject({ code: 3, stdout: '' });
    expect(refused.stderr).toContain(`keyturn login ${resource}`);
    const { signIns: grants } = await askBroker(home, 'signIn.list', {});
    expect(grants).toMatchObject([{ state: 'signInRequired' }]);
    expect(await home.keyturn(['token', resource])).toMatchObject({ code: 0 });
    expect(world.counts().authorizationServer).toMatchObject({ signIns: 2, registrations: 1 });
  });
});

describe('the overviews', () => {
  it('the overviews show the programs with their permissions, and the broker with its settings', async () => {
    const { home, resource } = await homeInWorld();
    await home.ok(['app', 'allow', 'cli', resource, '--scope', 'notes:read', '--for', '8h']);
    await home.ok(['app', 'deny', 'cli', 'https://other.example/mcp']);
    const clients = await home.ok(['app', 'list']);
    expect(clients).toMatch(/^APP +ID +SERVER +PERMISSION +ACCOUNT +SCOPES +UNTIL +LAST USED\n/);
    expect(clients).toMatch(new RegExp(`\ncli +cli +${resource} +allowed +- +notes:read +\\d{4}-`));
    expect(clients).toMatch(/\ncli +cli +https:\/\/other\.example\/mcp +denied +- +any +- /);
    expect(await home.json('app', 'list')).toMatchObject({
      apps: [
        {
          appId: 'cli',
          permissions: [{ resource, decision: 'allow', scope: 'notes:read' }, { decision: 'deny' }],
        },
      ],
    });

    const status = await home.json<{ pid: number }>('status');
    expect(status).toMatchObject({ vault: 'memory', insecureLoopback: false, signIns: 0, unreadable: [] });
    expect(await home.ok(['status'])).toContain(`pid ${status.pid}\nhome       ${home.paths.state}\n`);
  });
});

describe('a registration of the user’s own', () => {
  it('an entered registration is used in place of a new one, and its secret is in no file', async () => {
    const { home, world, resource } = await homeInWorld();
    const redirectUri = await freeRedirect();
    const { clientId, clientSecret } = await confidentialClient(world, redirectUri);
    const { issuer } = world.authorizationServer;
    const printed = await home.ok(
      [
        'oauth-client',
        'add',
        issuer,
        `--client-id=${clientId}`,
        '--client-secret-stdin',
        '--redirect-uri',
        redirectUri,
      ],
      { stdin: `${clientSecret}\n` },
    );
    expect(printed).toBe(`${redirectUri}\n`);

    await allow(home, 'cli', resource);
    await signIn(home, resource);
    const token = await tokenAt(home, resource);
    expect((await verdictOn(world, token)).status).toBe(200);
    const fresh = (await home.ok(['token', resource, '--rejected-token-stdin'], { stdin: token })).trim();
    expect((await verdictOn(world, fresh)).status).toBe(200);
    // The one registration is this test's.
    expect(world.counts().authorizationServer).toMatchObject({ registrations: 1, refreshes: 1 });
    for (const file of filesBelow(home.folder)) {
      if (!file.endsWith('.sock')) expect(readFileSync(file, 'utf8'), file).not.toContain(clientSecret);
    }
  });

  it('an entered registration is refused with a redirect URI that no program on this machine can serve', async () => {
    const { home, world } = await homeInWorld();
    const run = await home.keyturn([
      'oauth-client',
      'add',
      world.authorizationServer.issuer,
      '--client-id=abc',
      '--redirect-uri=https://elsewhere.example/callback',
    ]);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain('rule: RFC 8252');
  });
});

/** A client with a secret, as its owner would have obtained one at the issuer (RFC 7591). */
async function confidentialClient(world: TestWorld, redirectUri: string) {
  const response = await world.fetch(`${world.authorizationServer.issuer}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
    }),
  });
  expect(response.status).toBe(201);
  const registered = (await response.json()) as { client_id: string; client_secret: string };
  return { clientId: registered.client_id, clientSecret: registered.client_secret };
}
