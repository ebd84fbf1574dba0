/** Who tells that the screen was locked: Electron, and on Linux the desktop's screen saver. */
import type { PowerMonitor } from 'electron';
import { ScreenSaver } from './screen-saver.ts';

export interface ScreenLock {
  /** False where nothing on this system tells. */
  readonly isHeard: boolean;
  close(): void;
}

export interface ScreenLockPlace {
  /** Of the desktop session. */
  readonly env: NodeJS.ProcessEnv;
  readonly locked: () => void;
  readonly platform?: NodeJS.Platform;
}

/** Calls `locked` at each lock of the screen, until it is closed. */
export function hearScreenLock(monitor: PowerMonitor, place: ScreenLockPlace): ScreenLock {
  const { env, locked, platform = process.platform } = place;
  if (platform === 'linux') return new ScreenSaver({ env, locked });
  monitor.on('lock-screen', locked);
  return { isHeard: true, close: () => void monitor.off('lock-screen', locked) };
}
