/** A home whose keychain a test may lock. */
import { onTestFinished } from 'vitest';
import { ownKeyring } from '../../vault/keychain/keyring.ts';
import { allow, signIn, startBroker, tokenAt } from './owner-acts.ts';
import { homeInWorld } from '../home.ts';

/** Its vault is a keyring of its own, and `cli` has got `token` for the MCP server. Ends with the test. */
export async function homeOnOwnKeyring() {
  const keyring = await ownKeyring();
  onTestFinished(() => keyring.end());
  const { DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR } = keyring.env;
  const { home, world, resource } = await homeInWorld({
    env: { KEYTURN_VAULT: 'keychain', DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR },
  });
  await startBroker(home);
  await allow(home, 'cli', resource);
  await signIn(home, resource);
  return { keyring, home, world, resource, token: await tokenAt(home, resource) };
}
