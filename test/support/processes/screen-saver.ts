/**
 * A desktop session whose screen is locked by word: its bus, which no other test's app hears, and a screen saver's
 * signal. The same bus is the system's, on which nobody speaks.
 */
import { execFileSync } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { BusListener } from '../../../electron/system/bus-listener.ts';
import { screenSavers } from '../../../electron/system/screen-savers.ts';
import { busDaemon } from './bus-daemon.ts';

export async function screenSession() {
  const address = await busDaemon('--session');
  return {
    /** Where its buses are. */
    env: { DBUS_SESSION_BUS_ADDRESS: address, DBUS_SYSTEM_BUS_ADDRESS: address },
    /** Says as `interfaceName` that the screen saver runs, or doesn't. */
    say: (interfaceName: string, isActive: boolean) => {
      const signal = [`${interfaceName}.ActiveChanged`, `boolean:${isActive}`];
      execFileSync('dbus-send', ['--session', '--type=signal', '/screen', ...signal], {
        env: { ...process.env, DBUS_SESSION_BUS_ADDRESS: address },
      });
    },
  };
}

export type ScreenSession = Awaited<ReturnType<typeof screenSession>>;

/** Another listener on that bus, which is there already; the answer says whether it heard a lock. */
export async function listenBeside(env: ScreenSession['env']): Promise<() => boolean> {
  const { promise, resolve: onListening } = Promise.withResolvers<void>();
  let isHeard = false;
  const listener = new BusListener({
    env: { ...process.env, ...env },
    signals: screenSavers,
    onLocked: () => (isHeard = true),
    onListening,
  });
  onTestFinished(() => listener.close());
  await promise;
  return () => isHeard;
}
