/**
 * Removes what a test left in the run's keyring.
 *
 * A keyring writes all of its items at each change: with the items of a hundred ended homes in it, each write of a
 * running one took ten times as long.
 *
 * Invariant: only the keyring that scripts/with-keyring.sh made is touched.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';

const homeFile = z.object({ homeId: z.string().min(1) });

/** Removes the items of the home with this state folder, if `env` leads to the run's keyring. */
export async function forgetItems(stateFolder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const address = env['DBUS_SESSION_BUS_ADDRESS'];
  if (process.env['KEYTURN_TEST_KEYRING'] !== '1') return;
  if (!address || address !== process.env['DBUS_SESSION_BUS_ADDRESS']) return;
  const homeId = homeIdIn(path.join(stateFolder, 'home.json'));
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

/** undefined where the test removed or damaged the file. */
function homeIdIn(file: string): string | undefined {
  try {
    return homeFile.parse(JSON.parse(readFileSync(file, 'utf8'))).homeId;
  } catch {
    return undefined;
  }
}
