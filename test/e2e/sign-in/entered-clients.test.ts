/** Clients that the owner entered by hand: with a secret, a key, and for machines without a person. */
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { homeInBentWorld, openSharedHome } from '../../support/bent/home.ts';
import type { BentHomeOptions, SharedHome } from '../../support/bent/home.ts';
import { filesBelow, type TestHome } from '../../support/home.ts';
import { signIn } from '../../support/homes/owner-acts.ts';
import { freeRedirect } from '../../support/servers/port.ts';

/** One broker for all clients: each test has servers, or an issuer, of its own. */
let shared: SharedHome;
beforeAll(async () => {
  shared = await openSharedHome();
});
afterAll(() => shared.close());

const open = (options: BentHomeOptions = {}) => homeInBentWorld({ shared, ...options });

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
    'B-17 B-19: enters a client for %s, and hides its secret',
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

  it('B-18: enters a client whose key signs each token request', async () => {
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
});
