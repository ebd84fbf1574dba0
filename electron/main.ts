/** The desktop app's entry: nothing but the start. */
import { startDesktop } from './desktop.ts';

// Unpacked, the app itself is among them; switches may stand before it.
const args = process.argv.slice(1);
// Not awaited: Electron is ready only after this file has run to its end.
void startDesktop({ args, env: process.env });
