// Compiles src/ into dist/, the desktop host into dist/app/, and the windows' page into dist/renderer/.
// Starts from an empty dist/, so that nothing stale is packed.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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

/**
 * The bridge with its packages, in a few files that a client's start waits for, and without the files they are made of.
 * What it shares with the command line stays outside: an error must be of the same class on both sides.
 */
async function bundleBridge() {
  const folder = path.join(dist, 'bridge');
  const isOutside = (id, importer) => {
    if (id.startsWith('node:')) return true;
    if (importer === undefined || !id.startsWith('.') || !importer.startsWith(folder)) return false;
    return !path.resolve(path.dirname(importer), id).startsWith(folder + path.sep);
  };
  // What the command line imports of the bridge.
  const names = ['bridge', 'life', 'network', 'tool-filter'];
  const { output } = await build({
    configFile: false,
    logLevel: 'warn',
    root,
    ssr: { noExternal: true, target: 'node' },
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: false,
      minify: false,
      target: 'node22',
      rolldownOptions: {
        input: Object.fromEntries(names.map((name) => [name, path.join(folder, `${name}.js`)])),
        external: isOutside,
        treeshake: { moduleSideEffects: false },
        output: { entryFileNames: '[name].js', chunkFileNames: '[name]-shared.js' },
      },
    },
  });
  const bundled = new Set(output.map(({ fileName }) => fileName));
  for (const file of readdirSync(folder)) {
    if (!bundled.has(file)) rmSync(path.join(folder, file), { recursive: true });
  }
}

async function buildRenderer() {
  const configFile = path.join(root, 'renderer', 'vite.config.ts');
  if (existsSync(configFile)) await build({ configFile, logLevel: 'warn' });
}

rmSync(dist, { recursive: true, force: true });
compile('tsconfig.build.json');
// npm marks a package's commands as executable when it installs them; `npx keyturn` here runs ours in place.
chmodSync(path.join(dist, 'cli', 'bin.js'), 0o755);
await bundleBridge();
await buildApp();
await buildRenderer();
