/**
 * Listens on Linux for locks of the screen, which Electron does not report there: each desktop's screen
 * saver signals them on the session's bus.
 *
 * Invariant: it only listens. A program that can send on that bus can fake a lock, which locks the vault and
 * opens nothing. Without a bus or dbus-monitor nothing is heard, and `ended` says why.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

/** Interfaces of GNOME's, KDE's (and the common one), Cinnamon's, MATE's and Xfce's screen savers. */
const savers = [
  'org.gnome.ScreenSaver',
  'org.freedesktop.ScreenSaver',
  'org.cinnamon.ScreenSaver',
  'org.mate.ScreenSaver',
  'org.xfce.ScreenSaver',
] as const;

const ofTheirs = savers.map((saver) => `type='signal',interface='${saver}',member='ActiveChanged'`);

/** What dbus-monitor prints of such a signal, a line each: its head, then its one argument. */
const head = new RegExp(
  `^signal .*interface=(?:${savers.join('|').replaceAll('.', String.raw`\.`)}); member=ActiveChanged$`,
);
const isActive = /^\s*boolean true$/;

export interface ScreenSaverOptions {
  /** Of the desktop session: it says where the bus is. */
  readonly env: NodeJS.ProcessEnv;
  readonly onLocked: () => void;
  /** It is on the bus. */
  readonly onListening?: () => void;
}

/** Why nothing is heard: no dbus-monitor, no bus that answers, or it listened and has ended. */
export type ListenerFailure = 'noProgram' | 'noBus' | 'ended';

export class ScreenSaverListener {
  /** No such program, no bus, the bus is gone, somebody ended it, or `close`. */
  readonly ended: Promise<ListenerFailure>;
  readonly #child: ChildProcess;
  #isListening = false;

  constructor({ env, onLocked, onListening }: ScreenSaverOptions) {
    const { PATH, DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR } = env;
    const child = spawn('dbus-monitor', ['--session', ...ofTheirs], {
      env: { PATH, DBUS_SESSION_BUS_ADDRESS, XDG_RUNTIME_DIR },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    this.#child = child;
    const { promise, resolve } = Promise.withResolvers<ListenerFailure>();
    this.ended = promise;
    const end = (why: ListenerFailure): void => {
      this.#isListening = false;
      resolve(why);
    };
    child.on('error', () => end('noProgram')).on('close', () => end(this.#isListening ? 'ended' : 'noBus'));
    let isTheirs = false;
    createInterface({ input: child.stdout }).on('line', (line) => {
      // Its first lines are the bus's own, once it listens.
      if (!this.#isListening) onListening?.();
      this.#isListening = true;
      if (isTheirs && isActive.test(line)) onLocked();
      isTheirs = head.test(line);
    });
  }

  /** True while it listens. */
  get isListening(): boolean {
    return this.#isListening;
  }

  close(): void {
    this.#child.kill();
  }
}
