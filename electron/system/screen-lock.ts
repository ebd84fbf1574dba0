/**
 * Who tells that the screen was locked: Electron, and on Linux the desktop's screen saver.
 *
 * Invariant: on Linux the listener is started again when it ends, at once and then with growing pauses. Where that
 * helps nothing, `lost` is called, once until it listens again: what should happen at a lock must not wait for good.
 */
import type { PowerMonitor } from 'electron';
import { ScreenSaver } from './screen-saver.ts';
import type { Deafness } from './screen-saver.ts';

/** `starting`: it was started a moment ago. The others say why nothing is heard. */
export type Hearing = 'listening' | 'starting' | Deafness;

export interface ScreenLock {
  readonly hearing: Hearing;
  close(): void;
}

export interface ScreenLockPlace {
  /** Of the desktop session. */
  readonly env: NodeJS.ProcessEnv;
  readonly locked: () => void;
  /** It doesn't listen any more, and starting it again did not help. */
  readonly lost: () => void;
  /** `hearing` is another than before. */
  readonly changed: () => void;
  readonly platform?: NodeJS.Platform;
  /** Runs something after so many milliseconds, unless the answer is called before. */
  readonly after?: After;
}

type After = (milliseconds: number, run: () => void) => () => void;

/** Calls `locked` at each lock of the screen, until it is closed. */
export function hearScreenLock(monitor: PowerMonitor, place: ScreenLockPlace): ScreenLock {
  const { locked, platform = process.platform } = place;
  if (platform === 'linux') return new KeptListener(place);
  monitor.on('lock-screen', locked);
  return { hearing: 'listening', close: () => void monitor.off('lock-screen', locked) };
}

/** Milliseconds before each new start. The first is at once, so that a lock at that moment is missed hardly ever. */
const pauses = [0, 1000, 2000, 4000, 8000];

/** Milliseconds between later tries: the bus may come back, and a bus that is gone must not make it spin. */
const longPause = 5 * 60_000;

/** Milliseconds for which a listener has to last before its end counts as the first one again. */
const steadyAfter = 60_000;

const timer: After = (milliseconds, run) => {
  const waiting = setTimeout(run, milliseconds);
  waiting.unref();
  return () => clearTimeout(waiting);
};

class KeptListener implements ScreenLock {
  readonly #place: ScreenLockPlace;
  readonly #after: After;
  #hearing: Hearing = 'starting';
  #saver: ScreenSaver | undefined;
  #failures = 0;
  #cancelStart = (): void => undefined;
  #cancelSteady = (): void => undefined;
  #isClosed = false;

  constructor(place: ScreenLockPlace) {
    this.#place = place;
    this.#after = place.after ?? timer;
    this.#start();
  }

  get hearing(): Hearing {
    return this.#hearing;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelStart();
    this.#cancelSteady();
    this.#saver?.close();
  }

  #start(): void {
    const { env, locked } = this.#place;
    const saver = new ScreenSaver({ env, locked, heard: () => this.#heard() });
    this.#saver = saver;
    void saver.ended.then((why) => this.#ended(why));
  }

  #heard(): void {
    this.#become('listening');
    this.#cancelSteady = this.#after(steadyAfter, () => (this.#failures = 0));
  }

  #ended(why: Deafness): void {
    this.#cancelSteady();
    if (this.#isClosed) return;
    this.#become(why);
    const pause = pauses[this.#failures];
    this.#failures += 1;
    // Once: the person who unlocks then goes on without it, and the switch says so.
    if (this.#failures === pauses.length + 1) this.#place.lost();
    this.#cancelStart = this.#after(pause ?? longPause, () => this.#start());
  }

  #become(hearing: Hearing): void {
    if (hearing === this.#hearing) return;
    this.#hearing = hearing;
    this.#place.changed();
  }
}
