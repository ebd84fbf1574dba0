/** A home whose broker is in the middle of a refresh. */
import { reasonOf } from '../../../src/base/errors.ts';
import { homeInWorld, type TestHome } from '../home.ts';
import { askBroker } from './ask-broker.ts';
import { signIn, tokenAt } from './owner-acts.ts';

/** The issuer answers the refresh that `asking` waits for after `release`. `broker`: the broker's process id. */
export async function homeDuringRefresh() {
  const { home, world, resource } = await homeInWorld({ vault: 'keychain' });
  await home.ok(['app', 'allow', 'cli', resource]);
  await signIn(home, resource);
  const old = await tokenAt(home, resource);
  const { pid: broker } = await askBroker(home, 'status', {});
  const held = world.holdTokenRequests();
  const asking = home.start(['token', resource, '--rejected-token-stdin'], { stdin: old });
  await held.arrived;
  return { home, world, resource, broker, asking, release: () => held.release() };
}

/** True once the home's broker is stopping: it refuses new requests. */
export async function refusesNewRequests(home: TestHome): Promise<boolean> {
  return (await askBroker(home, 'status', {}).then(() => 'ok', reasonOf)) === 'broker_stopping';
}
