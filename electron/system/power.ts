/** Tells the app when the machine wakes up or shuts down. */
import type { PowerMonitor } from 'electron';

export interface PowerEvents {
  /** Timers stood still, and the network may be another one. */
  resumed(): void;
  /** The system shuts down, and waits a little for programs that end by themselves. */
  shuttingDown(): void;
}

export function watchPower(monitor: PowerMonitor, events: PowerEvents): void {
  monitor.on('resume', () => events.resumed());
  // Linux and macOS. Without the delay a rotation under way would be cut. Electron's types leave the event out.
  monitor.on('shutdown', (event?: { preventDefault(): void }) => {
    event?.preventDefault();
    events.shuttingDown();
  });
}
