/**
 * Unexpected errors: the app ends, as the headless broker does, and begins again at the next start.
 *
 * Invariant: only the error's name is shown. Electron's own dialog would show its text and stack, which
 * may quote anything, and go on in a state that nobody knows.
 */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { app, dialog } from 'electron';
import { words } from './words.ts';

/** For `uncaughtException`. The next refresh settles a rotation that is cut off (broker/tokens/failed-refresh.ts). */
export function endAtFault(error: unknown): void {
  process.stderr.write(`keyturn: ended by a fault: ${nameOf(error)}\n`);
  try {
    writeFileSync(faultFile(), '');
  } catch {
    // Then the next start says nothing of it.
  }
  // At once: while a dialog of the system waits, this process would hold the home's lock and answer nobody.
  app.exit(1);
}

/** If the app ended by a fault, its next start says so. */
export function sayEarlierFault(): void {
  try {
    rmSync(faultFile());
  } catch {
    // None is there.
    return;
  }
  void dialog.showMessageBox({ type: 'error', message: words().faulted, detail: words().report });
}

const faultFile = (): string => path.join(app.getPath('userData'), 'ended-by-fault');

/** For `unhandledRejection`: something was not done, and everything else goes on. */
export function noteRejection(error: unknown): void {
  process.stderr.write(`keyturn: a fault: ${nameOf(error)}\n`);
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.constructor.name : typeof error;
}
