/**
 * Keyturn's commands in a home of their own, at servers that answer as public reports tell.
 *
 * Invariant: what is bent is in place before the first command; home and servers end with the test.
 */
import type { Bends } from '../support/bent/parties.ts';
import { homeInBentWorld } from '../support/bent/home.ts';
import type { BentHome, BentHomeOptions } from '../support/bent/home.ts';
import type { Run } from '../support/home.ts';

export interface Commands extends BentHome {
  readonly login: (...args: readonly string[]) => Promise<Run>;
  /** The fields of `keyturn token --json`. */
  readonly token: () => Promise<Record<string, unknown>>;
}

export async function commandsAt(bend: Partial<Bends>, options: BentHomeOptions = {}): Promise<Commands> {
  const there = await homeInBentWorld(options);
  Object.assign(there.authorizationServer.bend, bend);
  const { home, url } = there;
  return {
    ...there,
    login: (...args) => home.keyturn(['login', url, '--timeout', '15s', ...args]),
    token: async () => {
      await home.ok(['app', 'allow', 'cli', url, '--for', '8h']);
      return home.json('token', url, '--no-input', '--json');
    },
  };
}
