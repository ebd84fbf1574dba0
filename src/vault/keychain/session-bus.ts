/**
 * The D-Bus session that the keychain's worker speaks to, and the worker's environment for it.
 *
 * Invariants: our own environment goes first; what a caller hands over is used for the worker only, and
 * is forgotten when it doesn't work. A socket of another user is never taken.
 */
import { lstatSync } from 'node:fs';
import path from 'node:path';

/** What a program on the desktop has and a broker started by ssh or cron lacks. Checked by the wire's schema. */
export interface DesktopSession {
  readonly DBUS_SESSION_BUS_ADDRESS: string;
  readonly DISPLAY?: string | undefined;
  readonly WAYLAND_DISPLAY?: string | undefined;
  readonly XAUTHORITY?: string | undefined;
  readonly XDG_RUNTIME_DIR?: string | undefined;
}

export class SessionBus {
  readonly #env: NodeJS.ProcessEnv;
  #handed: DesktopSession | undefined;

  /** `env`: the broker's own. */
  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** From now on, for the worker that is started next. */
  adopt(session: DesktopSession): void {
    this.#handed = session;
  }

  forget(): void {
    this.#handed = undefined;
  }

  /** The whole environment of a worker that starts now. */
  environment(): NodeJS.ProcessEnv {
    if (this.#handed) return { ...this.#env, ...this.#handed };
    if (this.#env['DBUS_SESSION_BUS_ADDRESS'] || process.platform !== 'linux') return this.#env;
    const socket = path.join(runtimeFolder(this.#env), 'bus');
    return isOurSocket(socket)
      ? { ...this.#env, DBUS_SESSION_BUS_ADDRESS: `unix:path=${socket}` }
      : this.#env;
  }
}

/** Where systemd puts the user's bus (pam_systemd(8)); ssh and cron may not set the variable. */
function runtimeFolder(env: NodeJS.ProcessEnv): string {
  return env['XDG_RUNTIME_DIR'] || `/run/user/${process.getuid?.() ?? ''}`;
}

function isOurSocket(file: string): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return found?.isSocket() === true && found.uid === process.getuid?.();
}
