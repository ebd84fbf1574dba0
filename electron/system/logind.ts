/**
 * What logind says on the system's bus of this desktop session: its screen is to be locked or is locked, another user
 * has the screen, the machine is about to sleep. Not every desktop of Linux has a screen saver that says so.
 *
 * Invariant: where logind doesn't say which session is ours, the signals of all sessions count: the vault is locked too
 * often rather than too seldom.
 */
import { withBus } from '../../src/daemon/system/bus-questions.ts';
import { signalHead, systemBusAddress, type LockSignals } from './bus-listener.ts';

const login = 'org.freedesktop.login1';
const manager = '/org/freedesktop/login1';

/** Nothing that has a meaning of its own in a match rule. */
const sessionPath = /^\/org\/freedesktop\/login1\/session\/\w+$/;

/**
 * Where our session's object is. `auto` is the session that our process is in, by its control group; a desktop that
 * systemd runs isn't in one, and then it is the user's graphical session.
 */
async function ownSession(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const call = { destination: login, path: manager, interface: `${login}.Manager`, member: 'GetSession' };
  try {
    const answer = await withBus(systemBusAddress(env), (ask) => ask({ ...call, texts: ['auto'] }));
    return typeof answer === 'string' && sessionPath.test(answer) ? answer : undefined;
  } catch {
    return undefined;
  }
}

/** The bus lets nobody but root have logind's name, and passes on signals of its owner only. */
async function rules(env: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const session = await ownSession(env);
  const ours = session === undefined ? `path_namespace='${manager}/session'` : `path='${session}'`;
  const theirs = `type='signal',sender='${login}'`;
  return [
    `${theirs},interface='${login}.Manager',member='PrepareForSleep'`,
    `${theirs},${ours},interface='${login}.Session',member='Lock'`,
    `${theirs},${ours},interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'`,
  ];
}

/** Properties of a session, each with its value while the session's user uses the screen. */
const inUse: Readonly<Record<string, RegExp>> = {
  Active: /\bboolean true$/,
  LockedHint: /\bboolean false$/,
};

/** The name of a property is in the line before its value. */
const propertyName = /^\s*string "(?<name>\w+)"$/;

function reader(): (line: string) => boolean {
  let member: string | undefined;
  let property: string | undefined;
  return (line) => {
    const head = signalHead.exec(line)?.groups;
    if (head) {
      ({ member } = head);
      property = undefined;
      return member === 'Lock';
    }
    if (member === 'PrepareForSleep') return /^\s*boolean true$/.test(line);
    if (member !== 'PropertiesChanged') return false;
    const value = property === undefined ? undefined : inUse[property];
    property = propertyName.exec(line)?.groups?.['name'];
    // Changed to what isn't said counts as a lock too.
    return value !== undefined && !value.test(line);
  };
}

export const logind: LockSignals = { bus: 'system', rules, reader };
