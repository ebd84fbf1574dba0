/** What the machine's sleep and its end mean for us. */
import type { PowerMonitor } from 'electron';

export interface PowerEvents {
  /** Timers stood still, and the network may be another one. */
  resumed(): void;
  /** The system goes down; it waits a little for whoever ends by itself. */
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
