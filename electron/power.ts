/** What the machine's sleep and screen lock mean for us. */
import type { PowerMonitor } from 'electron';

export interface PowerEvents {
  /** Timers stood still, and the network may be another one. */
  resumed(): void;
  screenLocked(): void;
}

export function watchPower(monitor: PowerMonitor, events: PowerEvents): void {
  monitor.on('resume', () => events.resumed());
  monitor.on('lock-screen', () => events.screenLocked());
}
