/** Revocation with real processes: durable before the answer, and kept as a promise over a crash. */
import { expect, it } from 'vitest';
import { homeInBentWorld } from '../../support/bent/home.ts';
import { until } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, killBroker, signIn, startBroker, tokenAt } from '../../support/homes/owner-acts.ts';
import { requireTestKeyring } from '../../vault/keychain/keyring.ts';

const keychain = (): Record<string, string> => {
  requireTestKeyring();
  return {
    KEYTURN_VAULT: 'keychain',
    DBUS_SESSION_BUS_ADDRESS: process.env['DBUS_SESSION_BUS_ADDRESS'] ?? '',
  };
};

interface Listed {
  state: string;
  receipt?: string;
  nextTry?: number;
  triedUntil?: number;
  endedAt: number;
  liveUntil?: number;
}

it('a revocation while the issuer is down outlives a kill, and is confirmed later', async () => {
  const { home, url, authorizationServer } = await homeInBentWorld({ env: keychain() });
  const { server } = authorizationServer;
  await startBroker(home);
  await allow(home, 'cli', url);
  await signIn(home, url);
  const token = await tokenAt(home, url);
  const back = server.on('*', '*', 'destroy');

  const said = await home.ok(['logout', url]);
  await killBroker(home);
  expect(said).toMatch(
    /the authorization server could not be reached yet\. Keyturn tries again, next at 20.*, until 20.*; an access token that was handed out may work until 20/,
  );
  // A restart alone touches no keychain, and the grant stays ended.
  const [listed] = await home.json<Listed[]>('sign-in', 'list');
  expect(listed).toMatchObject({ state: 'revoked', receipt: 'pending', liveUntil: expect.any(Number) });
  expect((listed?.triedUntil ?? 0) - (listed?.endedAt ?? 0)).toBe(30 * 24 * 60 * 60);
  expect(await home.ok(['sign-in', 'list'])).toMatch(
    /revoked \(pending, next try 20.*, tokens may live until 20/,
  );
  expect(authorizationServer.verify(token)).toBeDefined();

  back();
  // The first thing that opens the vault: from then on nobody has to ask for anything.
  await askBroker(home, 'backup.seal', {});
  await until('the issuer confirms', async () => {
    const { signIns: grants } = await askBroker(home, 'signIn.list', {});
    return grants[0]?.receipt === 'confirmed';
  });
  expect(await home.keyturn(['token', url, '--no-input'])).toMatchObject({ code: 3 });
  expect(authorizationServer.verify(token)).toBeUndefined();
  const tokens = server.asked('/revoke', 'POST').map(({ form }) => form.get('token'));
  expect(tokens).toContain(token);
  const { signIns: grants } = await askBroker(home, 'signIn.list', {});
  expect(grants).toMatchObject([{ state: 'revoked', receipt: 'confirmed' }]);
});
