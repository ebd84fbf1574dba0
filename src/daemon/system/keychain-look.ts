/**
 * The state of the keychain of a Linux desktop, without asking it for anything.
 *
 * Invariant: no keychain is started, no item is read, and the user is asked nothing.
 */
import { SessionBus } from '../../vault/keychain/session-bus.ts';
import { type AskBus, bus, withBus } from './bus-questions.ts';

/**
 * `elsewhere`: a system whose keychain isn't on D-Bus. `noBus`: no session is named. `deadBus`: nobody answers there.
 * `noService`: no keychain, and none that could be started. `asleep`: the first use starts one. `silent`: it runs and
 * does not answer. `noDefault`: it has nowhere to keep what is stored. `volatile`: it keeps that until the logout only.
 */
export type KeychainLook =
  | 'elsewhere'
  | 'noBus'
  | 'deadBus'
  | 'noService'
  | 'asleep'
  | 'silent'
  | 'noDefault'
  | 'volatile'
  | 'locked'
  | 'open';

const name = 'org.freedesktop.secrets';
const service = {
  destination: name,
  path: '/org/freedesktop/secrets',
  interface: 'org.freedesktop.Secret.Service',
} as const;

/** Secret Service API: "session" is the collection that is lost at the end of the session. */
const sessionCollection = /\/session$/;

export async function lookAtKeychain(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): Promise<KeychainLook> {
  if (platform !== 'linux') return 'elsewhere';
  const address = new SessionBus(env).environment()['DBUS_SESSION_BUS_ADDRESS'];
  if (!address) return 'noBus';
  try {
    return await withBus(address, look);
  } catch {
    return 'deadBus';
  }
}

async function look(ask: AskBus): Promise<KeychainLook> {
  if ((await ask({ ...bus, member: 'NameHasOwner', texts: [name] })) !== true) {
    const startable = await ask({ ...bus, member: 'ListActivatableNames' });
    return Array.isArray(startable) && startable.includes(name) ? 'asleep' : 'noService';
  }
  return lookInside(ask).catch(() => 'silent');
}

async function lookInside(ask: AskBus): Promise<KeychainLook> {
  const collection = await ask({ ...service, member: 'ReadAlias', texts: ['default'] });
  if (typeof collection !== 'string' || collection === '/') return 'noDefault';
  const locked = await ask({
    destination: name,
    path: collection,
    interface: 'org.freedesktop.DBus.Properties',
    member: 'Get',
    texts: ['org.freedesktop.Secret.Collection', 'Locked'],
  });
  if (sessionCollection.test(collection)) return 'volatile';
  return locked === true ? 'locked' : 'open';
}
