/**
 * Reports each lock of the screen: from Electron, and on Linux from the desktop's screen saver and from logind. It
 * counts as a lock too when the machine goes to sleep, and when another user takes the screen.
 *
 * Invariant: on Linux each listener is started again when it ends, at once and then with growing pauses. If that does
 * not help, `onLost` is called, once until it listens again: the vault must not stay open because no lock is heard.
 */
import type { PowerMonitor } from 'electron';
import type { InProcessOwner } from '../../src/daemon/methods/dispatch.ts';
import { methods } from '../../src/ipc/protocol/methods.ts';
import { after, type After } from '../../src/ipc/wire/timer.ts';
import { BusListener, type ListenerFailure, type LockSignals } from './bus-listener.ts';
import { logind } from './logind.ts';
import { screenSavers } from './screen-savers.ts';

/** `starting`: for a few seconds after a start. Those after it say why nothing is heard, or not all. */
export type ScreenLockState = 'listening' | 'starting' | ListenerFailure | 'noSystemBus';

export interface ScreenLock {
  readonly state: ScreenLockState;
  close(): void;
}

/** Whether the vault is locked with the screen: the setting `lockWithScreen`. On if it can't be read. */
export async function locksWithScreen(owner: Pick<InProcessOwner, 'call'>): Promise<boolean> {
  try {
    const { settings } = methods['settings.get'].result.parse(await owner.call('settings.get', {}));
    return settings['lockWithScreen'] === true;
  } catch {
    return true;
  }
}

export interface ScreenLockOptions {
  /** Of the desktop session. */
  readonly env: NodeJS.ProcessEnv;
  readonly onLocked: () => void;
  /** It doesn't listen any more, and starting it again did not help. */
  readonly onLost: () => void;
  /** `state` is another than before. */
  readonly onChange: () => void;
  readonly platform?: NodeJS.Platform;
  readonly after?: After;
}

/** Calls `onLocked` at each lock of the screen, until it is closed. */
export function watchScreenLock(monitor: PowerMonitor, options: ScreenLockOptions): ScreenLock {
  const { onLocked, platform = process.platform } = options;
  const desktop = platform === 'linux' ? linuxLock(options) : electronsLock(monitor, onLocked);
  // The lock screen may come only after the machine woke up, or never.
  monitor.on('suspend', onLocked);
  // macOS can switch users without a lock screen. Windows locks the screen for that, and on Linux logind tells.
  if (platform === 'darwin') monitor.on('user-did-resign-active', onLocked);
  return {
    get state() {
      return desktop.state;
    },
    close: () => {
      desktop.close();
      monitor.off('suspend', onLocked);
      if (platform === 'darwin') monitor.off('user-did-resign-active', onLocked);
    },
  };
}

function electronsLock(monitor: PowerMonitor, onLocked: () => void): ScreenLock {
  monitor.on('lock-screen', onLocked);
  return { state: 'listening', close: () => void monitor.off('lock-screen', onLocked) };
}

/** Milliseconds before each new start. The first is at once, so that hardly any lock is missed. */
const pauses = [0, 1000, 2000, 4000, 8000];

/** Milliseconds between later tries: the bus may come back, and a bus that is gone must not make it spin. */
const longPause = 5 * 60_000;

/** Milliseconds within which a listener is on its bus, on a busy machine too. One that isn't has failed. */
export const startTimeout = 10_000;

/** Milliseconds for which a listener has to last before its end counts as the first one again. */
const steadyAfter = 60_000;

function linuxLock(options: ScreenLockOptions): ScreenLock {
  let state: ScreenLockState = 'starting';
  // All of them have to listen: each hears of locks that the others don't.
  const onChange = (): void => {
    const next = listeners.find((listener) => listener.state !== 'listening')?.state ?? 'listening';
    if (next === state) return;
    state = next;
    options.onChange();
  };
  const listeners = [screenSavers, logind].map((one) => new KeptListener(one, { ...options, onChange }));
  return {
    get state() {
      return state;
    },
    close: () => listeners.forEach((listener) => listener.close()),
  };
}

/** Listens to one kind of signals for as long as it isn't closed. */
class KeptListener {
  readonly #signals: LockSignals;
  readonly #options: ScreenLockOptions;
  readonly #after: After;
  #state: ScreenLockState = 'starting';
  #listener: BusListener | undefined;
  #failures = 0;
  #isLost = false;
  #cancelStart = (): void => undefined;
  #cancelLate = (): void => undefined;
  #cancelSteady = (): void => undefined;
  #isClosed = false;

  constructor(signals: LockSignals, options: ScreenLockOptions) {
    this.#signals = signals;
    this.#options = options;
    this.#after = options.after ?? after;
    this.#start();
  }

  get state(): ScreenLockState {
    return this.#state;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelStart();
    this.#cancelLate();
    this.#cancelSteady();
    this.#listener?.close();
  }

  #start(): void {
    const { env, onLocked } = this.#options;
    const onListening = (): void => this.#listening();
    const listener = new BusListener({ env, signals: this.#signals, onLocked, onListening });
    this.#listener = listener;
    this.#cancelLate = this.#after(startTimeout, () => listener.giveUp());
    void listener.ended.then((why) => this.#ended(why));
  }

  #listening(): void {
    this.#cancelLate();
    this.#isLost = false;
    this.#become('listening');
    this.#cancelSteady = this.#after(steadyAfter, () => (this.#failures = 0));
  }

  #ended(why: ListenerFailure): void {
    this.#cancelLate();
    this.#cancelSteady();
    if (this.#isClosed) return;
    this.#become(why === 'noBus' && this.#signals.bus === 'system' ? 'noSystemBus' : why);
    const pause = pauses[this.#failures];
    this.#failures += 1;
    // Told once: the user who unlocks then goes on without it, and the switch says so until it listens again.
    if (this.#failures > pauses.length && !this.#isLost) {
      this.#isLost = true;
      this.#options.onLost();
    }
    this.#cancelStart = this.#after(pause ?? longPause, () => this.#start());
  }

  #become(state: ScreenLockState): void {
    this.#state = state;
    this.#options.onChange();
  }
}
