/** The desktop app's entry: nothing but the start. */
import { app } from 'electron';
import { startDesktop } from './desktop.ts';

// Unpacked, the first argument is the app itself.
const args = process.argv.slice(app.isPackaged ? 1 : 2);
// Not awaited: Electron is ready only after this file has run to its end.
void startDesktop({ args, env: process.env });
