/** The built headless broker behind the app's command line: refuses switches, and a second start ends at once. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';

const bin = path.join(import.meta.dirname, '..', '..', '..', 'dist', 'cli', 'bin.js');
const given = process.argv.slice(2).filter((word) => word !== '--hidden');
if (given.length > 0) process.exit(2);
let isRunning = true;
try {
  execFileSync(process.execPath, [bin, 'status'], { stdio: 'ignore' });
} catch {
  isRunning = false;
}
if (isRunning) process.exit(0);
// The same process goes on as the broker, so that it gets the signals.
process.execve(process.execPath, [process.execPath, bin, 'broker', 'run'], process.env);
