/**
 * What a home's owner does beside a test's subject: over the socket, since a command costs a process. Only `startBroker`
 * starts a broker.
 */
import type { ParamsOf, ResultOf } from '../../../src/ipc/protocol/methods.ts';
import { isAlive, type TestHome, until } from '../home.ts';
import { keepSecret } from '../secrets.ts';
import { askBroker } from './ask-broker.ts';

/** Resolves when the broker listens. It ends with the home, or by `stopBroker`. */
export async function startBroker(home: TestHome): Promise<void> {
  await home.start(['broker', 'run']).says('the broker listens on');
}

/** Ends the broker's process so, and resolves when it is gone. */
async function ended(home: TestHome, end: (pid: number) => unknown): Promise<void> {
  const { pid } = await askBroker(home, 'status', {});
  await end(pid);
  await until('the broker is gone', () => !isAlive(pid));
}

/** As `keyturn broker stop`. */
export const stopBroker = (home: TestHome) => ended(home, () => askBroker(home, 'broker.stop', {}));

/** As a `keyturn reset` that ends with the broker. */
export const resetHome = (home: TestHome) =>
  ended(home, () => askBroker(home, 'home.reset', { withoutVault: true }));

/** No order, no last write. */
export const killBroker = (home: TestHome) => ended(home, (pid) => process.kill(pid, 'SIGKILL'));

/** Tokens of every scope, until the owner ends it. */
export async function allow(home: TestHome, client: string, resource: string): Promise<void> {
  await askBroker(home, 'permission.set', { app: client, resource, decision: 'allow' });
}

export async function deny(home: TestHome, client: string, resource: string): Promise<void> {
  await askBroker(home, 'permission.set', { app: client, resource, decision: 'deny' });
}

export async function answer(home: TestHome, id: string, verdict: 'approve' | 'deny' | 'dismiss') {
  await askBroker(home, 'request.answer', { id, answer: verdict });
}

export async function nothingIsAsked(home: TestHome): Promise<boolean> {
  return (await askBroker(home, 'request.list', {})).requests.length === 0;
}

/** Opens the browser of the home. */
export async function signIn(
  home: TestHome,
  resource: string,
  more: Omit<ParamsOf<'signIn.start'>, 'resource'> = {},
) {
  return (await askBroker(home, 'signIn.start', { resource, ...more })).signIn;
}

/** A token for the command line; refreshes, and asks nobody. Rejects where there is only a key. */
export async function tokenAt(home: TestHome, resource: string): Promise<string> {
  const given = await askBroker(home, 'token.get', { resource, interaction: 'never' });
  if ('kind' in given) throw new Error('an API key, and nobody asked for one');
  return given.access_token;
}

export async function unlock(home: TestHome, passphrase: string): Promise<void> {
  keepSecret('passphrase', passphrase);
  await askBroker(home, 'vault.unlock', { passphrase });
}

export async function vaultStateOf(home: TestHome): Promise<ResultOf<'status'>['vaultState']['state']> {
  return (await askBroker(home, 'status', {})).vaultState.state;
}

/** Enters a client of ours; answers the redirect URI to register. */
export async function enter(home: TestHome, client: ParamsOf<'oauthClient.add'>): Promise<string> {
  const secret = client.clientSecret;
  if (secret !== undefined) keepSecret('client secret', secret);
  return (await askBroker(home, 'oauthClient.add', client)).redirectUri ?? '';
}
