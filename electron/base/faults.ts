/**
 * Unexpected errors: the app ends, as the headless broker does, and begins anew at the next start.
 *
 * Invariant: only the error's name is shown. Electron's own dialog would show its text and stack, which
 * may quote anything, and go on in a state that nobody knows.
 */
import { app, dialog } from 'electron';
import { words } from './words.ts';

/**
 * For `uncaughtException`. A rotation that is cut off here is settled at the next start
 * (broker/refusals/login-required.ts).
 */
export function endAtFault(error: unknown): void {
  process.stderr.write(`keyturn: ended by a fault: ${nameOf(error)}\n`);
  dialog.showErrorBox(words().faulted, words().report);
  app.exit(1);
}

/** For `unhandledRejection`: something was not done, and everything else goes on. */
export function noteRejection(error: unknown): void {
  process.stderr.write(`keyturn: a fault: ${nameOf(error)}\n`);
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.constructor.name : typeof error;
}
