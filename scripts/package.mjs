// Packs the desktop app with electron-builder into release/. Arguments go to it: `-- --dir` packs the
// folder only. ELECTRON_OVERRIDE_DIST_PATH names a local Electron, for a machine that can't download one.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';

const root = path.join(import.meta.dirname, '..');
const local = process.env.ELECTRON_OVERRIDE_DIST_PATH;

function run(script, args) {
  const { status } = spawnSync(process.execPath, [path.join(root, script), ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
}

run(path.join('scripts', 'build.mjs'), []);
run(path.join('node_modules', 'electron-builder', 'cli.js'), [
  ...(local ? [`-c.electronDist=${path.resolve(local)}`] : []),
  ...process.argv.slice(2),
]);
