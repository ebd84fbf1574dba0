/**
 * Removes what a test left in the run's keyring, which writes all its items at each change: a hundred ended homes made
 * that ten times slower. Only the keyring of scripts/with-keyring.sh is touched.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const ownerFile = z.object({ brokerId: z.string().min(1) });

/** Removes the items of the home with this owner.key, if `env` leads to the run's keyring. */
export async function forgetItems(ownerKey: string, env: NodeJS.ProcessEnv): Promise<void> {
  const address = env['DBUS_SESSION_BUS_ADDRESS'];
  if (process.env['KEYTURN_TEST_KEYRING'] !== '1') return;
  if (!address || address !== process.env['DBUS_SESSION_BUS_ADDRESS']) return;
  const homeId = homeIdIn(ownerKey);
  if (homeId === undefined) return;
  await removeItems(`keyturn/${homeId}`);
}

/** Removes every item of this service from the keyring of this process. */
export async function removeItems(service: string): Promise<void> {
  // Loaded here, since a run without a keychain has no keytar.
  const { default: keytar } = await import('keytar');
  for (const { account } of await keytar.findCredentials(service)) {
    await keytar.deletePassword(service, account);
  }
}

/** Undefined where the test removed or damaged owner.key, which names its home. */
export function homeIdIn(file: string): string | undefined {
  try {
    return ownerFile.parse(JSON.parse(readFileSync(file, 'utf8'))).brokerId;
  } catch {
    return undefined;
  }
}
