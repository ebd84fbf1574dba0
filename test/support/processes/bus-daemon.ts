/** A bus of D-Bus for one test: a real dbus-daemon, which ends with the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

/** Answers its address. `configuration`: the option that names it. */
export async function busDaemon(configuration: string): Promise<string> {
  const daemon = spawn('dbus-daemon', [configuration, '--nofork', '--print-address'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void daemon.kill());
  const [address] = (await once(createInterface({ input: daemon.stdout }), 'line')) as [string];
  return address;
}
