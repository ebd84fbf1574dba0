/** The desktop app's entry: starts the app, and ends it at an unexpected error. */
import { startDesktop } from './desktop.ts';
import { endAtFault, noteRejection } from './base/faults.ts';

process.on('uncaughtException', endAtFault);
process.on('unhandledRejection', noteRejection);

// Unpacked, the app itself is among them; switches may be before it.
const args = process.argv.slice(1);
// Not awaited: Electron is ready only after this file has run to its end.
void startDesktop({ args, env: process.env });
