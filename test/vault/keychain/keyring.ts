/** Keyrings for tests: of scripts/with-keyring.sh, and further ones. Without the script a run fails, not skips. */
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { KeychainRequest } from '../../../src/vault/keychain/keychain-messages.ts';
import { forkWorker, KeychainProcess } from '../../../src/vault/keychain/keychain-process.ts';
import type { Items } from '../../../src/vault/base/item-store.ts';
import { removeItems } from '../../support/homes/keychain-items.ts';

const script = fileURLToPath(new URL('../../../scripts/with-keyring.sh', import.meta.url));

/** Milliseconds for a call of a test's own: far beyond what an open keyring needs on a busy machine. */
const patience = 20_000;

/** Throws, with a hint, unless this run has a keyring made for tests. */
export function requireTestKeyring(): void {
  if (process.env['DBUS_SESSION_BUS_ADDRESS'] && process.env['KEYTURN_TEST_KEYRING'] === '1') return;
  throw new Error(
    'These tests need a throw-away keyring around them. Run: sh scripts/with-keyring.sh npx vitest run test/vault',
  );
}

const freshServices = new Set<string>();

/** A service name that no other test uses. The file that asks for one calls `removeFreshItems` at its end. */
export function freshService(): string {
  const service = `keyturn-test/${randomUUID()}`;
  freshServices.add(service);
  return service;
}

/** Removes the items of the services that `freshService` named, so that the run's keyring stays small and quick. */
export async function removeFreshItems(): Promise<void> {
  for (const service of freshServices) await removeItems(service);
  freshServices.clear();
}

/** Direct access to the keychain's items of one service, without the vault: to build what a crash leaves behind. */
export function rawItems(
  service: string,
  env?: NodeJS.ProcessEnv,
): Omit<Items, 'replace'> & { close(): void } {
  const worker = new KeychainProcess(() => forkWorker(env), patience);
  type Request = Pick<KeychainRequest, 'op'> & { account: string; value?: string };
  const ask = async (request: Request): Promise<string | undefined> => {
    const answer = await worker.ask({ ...request, service } as Parameters<KeychainProcess['ask']>[0]);
    return (answer as string | null) ?? undefined;
  };
  return {
    get: (account) => ask({ op: 'get', account }),
    set: (account, value) => ask({ op: 'set', account, value }),
    delete: (account) => ask({ op: 'delete', account }),
    close: () => worker.close(),
  };
}

const sessionVariables = ['DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'XDG_DATA_HOME'];

/** A D-Bus session with its own keyring, which a test may lock without disturbing others. */
export async function ownKeyring() {
  // Without a display no unlock window can open on the screen of the user who runs the tests.
  const { DISPLAY: _, WAYLAND_DISPLAY: __, ...withoutDisplay } = process.env;
  const show = sessionVariables.map((name) => `"$${name}"`).join(' ');
  const shell = spawn('sh', [script, 'sh', '-c', `printf '%s\t' ${show}; echo; cat`], {
    env: withoutDisplay,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const [line] = (await once(createInterface({ input: shell.stdout }), 'line')) as [string];
  const values = line.split('\t');
  const env = {
    ...withoutDisplay,
    ...Object.fromEntries(sessionVariables.map((name, n) => [name, values[n]])),
  };
  return {
    env,
    lock: () => lockDefaultCollection(env),
    /** Replaces the running keyring daemon with a new, unlocked one; the items stay. */
    restartUnlocked: () => replaceDaemon(env),
    async close() {
      const ended = once(shell, 'exit');
      shell.stdin.end();
      await ended;
    },
  };
}

async function lockDefaultCollection(env: NodeJS.ProcessEnv): Promise<void> {
  const collection = "[objectpath '/org/freedesktop/secrets/aliases/default']";
  const where = ['-d', 'org.freedesktop.secrets', '-o', '/org/freedesktop/secrets'];
  const method = ['-m', 'org.freedesktop.Secret.Service.Lock', collection];
  await promisify(execFile)('gdbus', ['call', '--session', ...where, ...method], { env });
}

async function replaceDaemon(env: NodeJS.ProcessEnv): Promise<void> {
  const command = `printf throw-away | gnome-keyring-daemon --replace --unlock --components=secrets --daemonize >/dev/null 2>&1
    gdbus wait --session --timeout 200 org.freedesktop.secrets`;
  await promisify(execFile)('sh', ['-euc', command], { env });
}
