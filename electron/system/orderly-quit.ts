/**
 * The end of the app, however and however often it was asked to quit.
 *
 * Invariant: a rotation under way is finished first.
 */
import { app } from 'electron';
import type { Daemon } from '../../src/daemon/daemon.ts';

/**
 * Electron answers each of these once, by quitting in order, and gives it back to the system then: a second one would
 * end the app at once, in the middle of a rotation that the first one waits for. A rotation has an end of its own.
 */
const endSignals = ['SIGINT', 'SIGTERM'] as const;

/** `close`: called once the daemon has stopped, before the app ends. */
export function stopBeforeQuit(
  daemon: Pick<Daemon, 'stop' | 'stopped' | 'lookForSocket'>,
  close: () => void,
): void {
  let isDone = false;
  app.on('before-quit', (event) => {
    if (isDone) return;
    event.preventDefault();
    void daemon.stop();
  });
  const quit = (): void => app.quit();
  // Once the app is ready: Electron sets its own before that, over ours.
  for (const signal of endSignals) process.on(signal, quit);
  // A command that finds no socket sends this. Otherwise, the end of the session does.
  const hangUp = (): void => void daemon.lookForSocket().then((wasLost) => wasLost || app.quit());
  process.on('SIGHUP', hangUp);
  const leave = async (): Promise<void> => {
    await daemon.stopped;
    close();
    isDone = true;
    for (const signal of endSignals) process.off(signal, quit);
    process.off('SIGHUP', hangUp);
    app.quit();
  };
  void leave();
}
