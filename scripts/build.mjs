// Compiles src/ into dist/, the desktop host into dist/app/, and the windows' page into dist/renderer/.
// Starts from an empty dist/, so that nothing stale is packed.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { build } from 'vite';

const root = path.join(import.meta.dirname, '..');
const dist = path.join(root, 'dist');
const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');

function compile(project) {
  execFileSync(process.execPath, [compiler, '-p', path.join(root, project)], { stdio: 'inherit' });
}

/** The desktop host: electron/ and what it imports of src/, side by side as in the source tree. */
async function buildApp() {
  compile('tsconfig.app.json');
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  // src/daemon/system/version.ts reads it three folders above itself.
  writeFileSync(path.join(dist, 'app', 'package.json'), `${JSON.stringify({ version, type: 'module' })}\n`);
  // A sandboxed preload can't import files of its own, and must be CommonJS.
  await build({
    configFile: false,
    logLevel: 'warn',
    root,
    build: {
      outDir: path.join(dist, 'app', 'electron'),
      emptyOutDir: false,
      lib: {
        entry: path.join(root, 'electron', 'preload.ts'),
        formats: ['cjs'],
        fileName: () => 'preload.cjs',
      },
      rolldownOptions: { external: ['electron'] },
      minify: false,
    },
  });
}

async function buildRenderer() {
  const configFile = path.join(root, 'renderer', 'vite.config.ts');
  if (existsSync(configFile)) await build({ configFile, logLevel: 'warn' });
}

rmSync(dist, { recursive: true, force: true });
compile('tsconfig.build.json');
// npm marks a package's commands as executable when it installs them; `npx keyturn` here runs ours in place.
chmodSync(path.join(dist, 'cli', 'bin.js'), 0o755);
await buildApp();
await buildRenderer();
