// Runs the tests of the windows and the journeys in a real Electron: ELECTRON_OVERRIDE_DIST_PATH, or the binary of the
// electron package. Without one it fails and says how to get it. The journeys need the throw-away keyring that Linux
// alone has.
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
  process.stderr.write(
    'test:electron: nothing was tested, because there is no Electron binary here. Download it with: npx install-electron --no\n' +
      'Or name the folder of one that you have: ELECTRON_OVERRIDE_DIST_PATH=FOLDER npm run test:electron\n',
  );
  process.exitCode = 1;
} else {
  const vitest = [process.execPath, path.join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run'];
  const windows = [...vitest, 'test/electron/window.test.ts'];
  const [program, ...args] =
    process.platform === 'linux'
      ? ['sh', path.join(root, 'scripts', 'with-keyring.sh'), ...windows, 'test/journeys']
      : windows;
  const env = { ...process.env, KEYTURN_TEST_ELECTRON: binary };
  const { status } = spawnSync(program, args, { cwd: root, stdio: 'inherit', env });
  process.exitCode = status ?? 1;
}
