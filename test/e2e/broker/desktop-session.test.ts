/** A broker that ssh or cron started without D-Bus: it says so, and recovers when a desktop is there. */
import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { homeInWorld, type TestHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { type KeyringSession, ownKeyring } from '../../vault/keychain/keyring.ts';

/** A home whose environment has no bus, and a desktop with a real one beside it. */
async function withoutBus(): Promise<{
  home: TestHome;
  resource: string;
  keyring: KeyringSession;
  runtime: string;
  bus: string;
}> {
  const keyring = await ownKeyring();
  onTestFinished(() => keyring.end());
  const [, bus = ''] = /^unix:path=([^,]+)/.exec(String(keyring.env['DBUS_SESSION_BUS_ADDRESS'])) ?? [];
  // Beside the bus, so that the bus can be linked into it.
  const runtime = mkdtempSync(path.join(path.dirname(bus), 'kt-'));
  onTestFinished(() => rmSync(runtime, { recursive: true }));
  // Its own runtime folder: the folder of the user who runs the tests has that user's keyring.
  const env = { KEYTURN_VAULT: 'keychain', XDG_RUNTIME_DIR: runtime };
  const { home, resource } = await homeInWorld({ env });
  // What is allowed has to be provable, and so waits for the keychain too.
  expect(await home.keyturn(['app', 'allow', 'cli', resource])).toMatchObject({ code: 7 });
  return { home, resource, keyring, runtime, bus };
}

async function refusedAsAbsent(home: TestHome, resource: string): Promise<number> {
  const run = await home.keyturn(['token', resource]);
  expect(run).toMatchObject({ code: 7, stdout: '' });
  expect(run.stderr).toMatch(/hint: .*keyring[^]*reason: vault_unavailable/);
  const status = await askBroker(home, 'status', {});
  expect(status.vaultState).toMatchObject({
    state: 'absent',
    what: expect.any(String),
    hint: expect.any(String),
  });
  for (const noun of ['sign-in', 'app', 'request']) await home.ok([noun]);
  return status.pid;
}

it('a broker takes the session of a desktop caller without a restart', async () => {
  const { home, resource, keyring } = await withoutBus();
  const pid = await refusedAsAbsent(home, resource);
  const { DBUS_SESSION_BUS_ADDRESS } = keyring.env;
  const unusable = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent/bus' };
  expect(await home.keyturn(['token', resource], { env: unusable })).toMatchObject({ code: 7 });
  await home.ok(['app', 'allow', 'cli', resource], { env: { DBUS_SESSION_BUS_ADDRESS } });
  await home.ok(['token', resource]);
  await home.ok(['token', resource, '--no-input', '--min-validity', '3599s']);
  expect(await askBroker(home, 'status', {})).toMatchObject({ pid, vaultState: { state: 'open' } });
});
