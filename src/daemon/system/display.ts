/**
 * The environment of the browser, with the display where it should open.
 *
 * Invariant: of the user's command that asks, the variables of its display count and nothing else; they replace all of
 * the broker's own, since the address of one display beside the name of another would open the page where nobody looks.
 */
import { runtimeFolder } from '../../vault/keychain/session-bus.ts';

export const displayNames = [
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'XAUTHORITY',
  'DBUS_SESSION_BUS_ADDRESS',
  'XDG_CURRENT_DESKTOP',
] as const;

type Display = Readonly<Partial<Record<(typeof displayNames)[number], string | undefined>>>;

export class BrowserDisplay {
  readonly #env: NodeJS.ProcessEnv;
  /** Of the user's last command. */
  #given: Display | undefined;

  /** `env`: the broker's own environment. */
  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  set(display: Display): void {
    this.#given = display;
  }

  /** What a user calls the display; undefined if there is none. */
  get name(): string | undefined {
    const { WAYLAND_DISPLAY, DISPLAY } = this.environment();
    return WAYLAND_DISPLAY || DISPLAY || undefined;
  }

  environment(): NodeJS.ProcessEnv {
    if (!this.#given) return this.#env;
    const names: readonly string[] = displayNames;
    const others = Object.entries(this.#env).filter(([name]) => !names.includes(name));
    // A Wayland display is the name of a socket in this folder, which ssh and cron may not name.
    return { XDG_RUNTIME_DIR: runtimeFolder(this.#env), ...Object.fromEntries(others), ...this.#given };
  }
}
