/**
 * A desktop session whose screen is locked by word: a bus of its own, and the signal that a screen saver sends.
 *
 * Invariant: no app of another test hears it.
 */
import { execFileSync } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { ownKeyring } from '../../vault/keychain/keyring.ts';

export interface ScreenSession {
  /** Where its bus is. */
  readonly env: { readonly DBUS_SESSION_BUS_ADDRESS: string };
  /** Says as `interfaceName` that the screen saver runs, or doesn't. */
  readonly say: (interfaceName: string, isActive: boolean) => void;
}

export async function screenSession(): Promise<ScreenSession> {
  const session = await ownKeyring();
  onTestFinished(() => session.end());
  return {
    env: { DBUS_SESSION_BUS_ADDRESS: session.env['DBUS_SESSION_BUS_ADDRESS'] ?? '' },
    say: (interfaceName, isActive) => {
      const signal = [`${interfaceName}.ActiveChanged`, `boolean:${isActive}`];
      execFileSync('dbus-send', ['--session', '--type=signal', '/screen', ...signal], { env: session.env });
    },
  };
}
