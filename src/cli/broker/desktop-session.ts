/**
 * The desktop session that this command runs in, for a broker that ssh or cron started without one.
 *
 * Invariants: only variables of the desktop session leave this process, to a broker that has proved itself. Its keychain
 * gets them only where the broker said that it has none. One more try, never two.
 */
import type { Connection } from '../../client/connection.ts';
import { KeyturnError } from '../../base/errors.ts';
import { displayName } from '../../base/system/display.ts';
import type { ParamsOf, ResultOf } from '../../ipc/protocol/methods.ts';
import { appCapability } from '../../ipc/wire/capabilities.ts';

const address = 'DBUS_SESSION_BUS_ADDRESS';
const further = ['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'XDG_RUNTIME_DIR'] as const;

type Session = NonNullable<ParamsOf<'vault.unlock'>['session']>;

/** Undefined outside of a desktop session, or where its bus is on no Unix socket. */
export function desktopSession(env: NodeJS.ProcessEnv): Session | undefined {
  const bus = env[address];
  if (!bus?.startsWith('unix:')) return undefined;
  return { [address]: bus, ...setIn(env, further) };
}

/** `display.set`; undefined outside of a desktop. */
function displayOf(env: NodeJS.ProcessEnv): Readonly<Record<string, string>> | undefined {
  if (displayName(env) === undefined) return undefined;
  return setIn(env, ['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'XDG_CURRENT_DESKTOP', address]);
}

const setIn = (env: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));

/** Asks first why there is no vault: one that a user locked must not be opened in passing. */
async function isTaken(connection: Connection, session: Session): Promise<boolean> {
  try {
    const { vaultState } = (await connection.request('status')) as ResultOf<'status'>;
    if (vaultState.state !== 'absent') return false;
    await connection.request('vault.unlock', { session });
    return true;
  } catch {
    return false;
  }
}

/** The same connection; where the broker has no keychain it is given our session, and asked once more. */
export function offeringSession(connection: Connection, env = process.env): Connection {
  // The app has a desktop session of its own.
  if (connection.capabilities.includes(appCapability)) return connection;
  const shown = displayOf(env);
  // Not waited for: the next request comes after it. A broker that doesn't know it has its own display, or none.
  if (shown) connection.request('display.set', shown).catch(() => undefined);
  const session = desktopSession(env);
  if (!session) return connection;
  const again = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof KeyturnError) || error.reason !== 'vault_unavailable') throw error;
      // The user should read the first refusal, unless the session fixed its cause.
      if (!(await isTaken(connection, session))) throw error;
      return work();
    }
  };
  return {
    capabilities: connection.capabilities,
    get isOpen() {
      return connection.isOpen;
    },
    request: (method, params, options) =>
      method === 'vault.unlock'
        ? connection.request(method, params, options)
        : again(() => connection.request(method, params, options)),
    getToken: (params, options) => again(() => connection.getToken(params, options)),
    getCredential: (params, options) => again(() => connection.getCredential(params, options)),
    proveToken: (params, options) => connection.proveToken(params, options),
    rejectToken: (params, options) => again(() => connection.rejectToken(params, options)),
    onNotification: (listener) => connection.onNotification(listener),
    close: () => connection.close(),
  };
}
