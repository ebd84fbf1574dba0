// Runs the tests of the windows in a real Electron, where there is one: ELECTRON_OVERRIDE_DIST_PATH, or the
// binary that the electron package downloads. Else says so, and that is all: nothing was tested.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

const root = path.join(import.meta.dirname, '..');
const names = { darwin: 'Electron.app/Contents/MacOS/Electron', win32: 'electron.exe' };
const name = names[process.platform] ?? 'electron';

function findBinary() {
  const local = process.env.ELECTRON_OVERRIDE_DIST_PATH;
  if (local) return path.join(local, name);
  const installed = path.join(root, 'node_modules', 'electron');
  const pathFile = path.join(installed, 'path.txt');
  return existsSync(pathFile) ? path.join(installed, 'dist', readFileSync(pathFile, 'utf8')) : undefined;
}

const binary = findBinary();
if (binary === undefined || !existsSync(binary)) {
  process.stdout.write('test:electron: there is no Electron binary here, so nothing was tested.\n');
} else {
  const vitest = path.join(root, 'node_modules', 'vitest', 'vitest.mjs');
  const { status } = spawnSync(process.execPath, [vitest, 'run', 'test/electron/window.test.ts'], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, KEYTURN_TEST_ELECTRON: binary },
  });
  process.exitCode = status ?? 1;
}
