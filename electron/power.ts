/** What the machine's sleep and screen lock mean for us. */
import type { PowerMonitor } from 'electron';

/** Electron hears of a locked screen on macOS and Windows only. */
export const hearsScreenLock = (platform: NodeJS.Platform = process.platform): boolean =>
  platform === 'darwin' || platform === 'win32';

export interface PowerEvents {
  /** Timers stood still, and the network may be another one. */
  resumed(): void;
  screenLocked(): void;
  /** The system goes down; it waits a little for whoever ends by itself. */
  shuttingDown(): void;
}

export function watchPower(monitor: PowerMonitor, events: PowerEvents): void {
  monitor.on('resume', () => events.resumed());
  monitor.on('lock-screen', () => events.screenLocked());
  // Linux and macOS. Without the delay a rotation under way would be cut. Electron's types leave the event out.
  monitor.on('shutdown', (event?: { preventDefault(): void }) => {
    event?.preventDefault();
    events.shuttingDown();
  });
}
