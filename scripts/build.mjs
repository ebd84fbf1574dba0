// Compiles src/ into dist/. Starts from an empty dist/, so that nothing stale is packed.
import { execFileSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

const root = path.join(import.meta.dirname, '..');
const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');

rmSync(path.join(root, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [compiler, '-p', path.join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
});
// npm marks a package's commands as executable when it installs them; `npx keyturn` here runs ours in place.
chmodSync(path.join(root, 'dist', 'cli', 'bin.js'), 0o755);
