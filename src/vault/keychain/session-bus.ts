/**
 * The environment of the keychain's worker, with the D-Bus session that the worker should connect to.
 *
 * Invariants: without a session from a caller, the broker's own environment counts. A caller's session is used for
 * the worker only. Without an address, the usual socket is used only if it is this user's.
 */
import { lstatSync } from 'node:fs';
import path from 'node:path';

/**
 * The variables of a desktop session, which a broker that ssh or cron started doesn't have. The schema of the socket's
 * method has checked them.
 */
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

  /** `env`: the broker's own environment. */
  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** Uses `session` for every worker that starts from now on. */
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

/** The folder where systemd puts the user's bus (pam_systemd(8)); ssh and cron may not set the variable. */
export function runtimeFolder(env: NodeJS.ProcessEnv): string {
  return env['XDG_RUNTIME_DIR'] || `/run/user/${process.getuid?.() ?? ''}`;
}

function isOurSocket(file: string): boolean {
  const found = lstatSync(file, { throwIfNoEntry: false });
  return found?.isSocket() === true && found.uid === process.getuid?.();
}
