// Starts the app from a clone: `npm run app`. On Linux it first says what Chromium's sandbox lacks, since Electron would end
// with a message of its own that names the way out that Keyturn refuses (--no-sandbox).
import { spawn, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

const root = path.join(import.meta.dirname, '..');
const electron =
  process.env.ELECTRON_OVERRIDE_DIST_PATH ?? path.join(root, 'node_modules', 'electron', 'dist');
const helper = path.join(electron, 'chrome-sandbox');

/** Root's, with the set-user-ID bit: then Chromium needs no user namespace. */
function isHelperSetUp() {
  const found = statSync(helper, { throwIfNoEntry: false });
  return found !== undefined && found.uid === 0 && (found.mode & 0o4755) === 0o4755;
}

const hasNamespaces = () => spawnSync('unshare', ['-Ur', 'true'], { stdio: 'ignore' }).status === 0;

if (process.platform === 'linux' && !isHelperSetUp() && !hasNamespaces()) {
  process.stderr.write(
    'app: this system lets ordinary programs make no user namespaces, which Chromium’s sandbox needs (Ubuntu since 23.10).\n' +
      'Set up the sandbox’s helper, once, then start the app again:\n' +
      `  npx install-electron --no\n  sudo chown root:root '${helper}'\n  sudo chmod 4755 '${helper}'\n`,
  );
  process.exit(1);
}
const command = [
  path.join(root, 'node_modules', 'electron', 'cli.js'),
  path.join(root, 'dist', 'app', 'electron', 'main.js'),
];
const child = spawn(process.execPath, [...command, ...process.argv.slice(2)], { stdio: 'inherit' });
// A terminal sends its interrupt to both.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => child.kill());
child.on('close', (code) => process.exit(code ?? 1));
