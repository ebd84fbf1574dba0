// Bundles the program into dist/cli/, compiles the libraries into dist/client/ and dist/server/, each with its own copy of what it
// shares with others, the desktop host into dist/app/, and the windows' page into dist/renderer/.
// Starts from an empty dist/, so that nothing stale is packed.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { build } from 'vite';

const root = path.join(import.meta.dirname, '..');
const dist = path.join(root, 'dist');
const compiler = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');

/** Checks no types: `npm run check` does, of all projects. */
function compile(project) {
  const args = ['-p', path.join(root, project), '--noCheck'];
  execFileSync(process.execPath, [compiler, ...args], { stdio: 'inherit' });
}

const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/** Into a folder of dist/, beside what is there. */
const bundle = async (folder, { build: how, ...more }) =>
  build({
    configFile: false,
    logLevel: 'warn',
    root,
    ...more,
    build: { outDir: path.join(dist, folder), emptyOutDir: false, minify: false, ...how },
  });

/** The desktop host: electron/ and what it imports of src/, side by side as in the source tree. */
async function buildApp() {
  compile('tsconfig.app.json');
  // src/daemon/system/version.ts reads it three folders above itself.
  writeFileSync(path.join(dist, 'app', 'package.json'), `${JSON.stringify({ version, type: 'module' })}\n`);
  // A sandboxed preload can't import files of its own, and must be CommonJS.
  await bundle('app/electron', {
    build: {
      lib: {
        entry: path.join(root, 'electron', 'preload.ts'),
        formats: ['cjs'],
        fileName: () => 'preload.cjs',
      },
      rolldownOptions: { external: ['electron'] },
    },
  });
}

/** Node keeps the text of what it loads: with one character beyond Latin-1, each takes two bytes. */
const plainText = {
  comments: { annotation: false, jsdoc: false, legal: true },
  minify: { compress: false, mangle: false, codegen: { removeWhitespace: false, asciiOnly: true } },
};

/** Packages that stay beside the program: those with native code, and one that only `keyturn dev-server` wants. */
const packagesOutside = ['keytar', 'koffi', 'oidc-provider'];

/**
 * What every `keyturn token` loads, in one file: a cold process pays for each file. None of it imports a package.
 */
const lean = [
  'base/{abort,errors,paths,runtime,system-error}',
  'base/private/*',
  'base/system/display',
  'base/text/*',
  'oauth/base/{resource,scope,secure-url}',
  'ipc/wire/*',
  'client/{app-key-file,channel,connect,connection,hello,search,takeover}',
  'cli/main',
  'cli/broker/{connection,desktop-session,no-broker}',
  'cli/waiting/watch-later',
  'cli/terminal/{arguments,command,output,rule-label,standard-input,statement,token-options}',
  'cli/commands/token',
].map((pattern) => path.join(root, 'src', `${pattern}.ts`));

/** Modules of which a cold command mostly calls nothing: each loads dozens of others, so a function is looked up when it is called. */
const lookedUpLate = ['node:fs/promises', 'node:timers/promises'];

/** One import of a module of Node's. No text of a comment or a string begins a line like that. */
const builtinImport =
  /^import (?:\* as (?<all>[\w$]+)|(?<whole>[\w$]+)?(?:, )?(?:\{ (?<names>[^}]+) \})?) from "(?<from>node:[^"]+)";$/gm;

/**
 * Takes modules of Node's without the loader of ES modules, which reads every one of their exports first, and so loads web
 * cryptography, `util`'s differ and more. That is 4 of the 20 ms which `keyturn token` takes beyond Node's own start.
 */
const builtinsDirectly = {
  name: 'builtins-directly',
  renderChunk: (code) => code.replace(builtinImport, (...match) => direct(match.at(-1))),
};

function direct({ all, whole, names, from }) {
  const taken = `process.getBuiltinModule("${from}")`;
  const module = all ?? whole;
  if (module && names) return `${direct({ whole, from })}\n${direct({ names, from })}`;
  if (module) return `const ${module} = ${taken};`;
  if (!lookedUpLate.includes(from)) return `const { ${names.replaceAll(' as ', ': ')} } = ${taken};`;
  return names
    .split(', ')
    .map((each) => each.split(' as '))
    .map(([name, local = name]) => `const ${local} = (...given) => ${taken}.${name}(...given);`)
    .join('\n');
}

/**
 * The command, the broker and their child processes, with the packages they use, in one folder: a program of few files
 * starts in half the time. One build for all, so that an error has the same class in each.
 *
 * The entries find each other by name in that folder (`fileBeside`, `spawnDetached`).
 */
async function bundleProgram() {
  const source = (file) => path.join(root, 'src', file);
  await bundle('cli', {
    plugins: [
      {
        name: 'version',
        // The module reads package.json by its own place, which the bundle changes.
        load: (id) =>
          id === source('daemon/system/version.ts')
            ? `export const version = ${JSON.stringify(version)};`
            : null,
      },
      builtinsDirectly,
    ],
    ssr: { noExternal: true, external: packagesOutside, target: 'node' },
    build: {
      ssr: true,
      target: 'node22',
      rolldownOptions: {
        input: {
          bin: source('cli/bin.ts'),
          'keychain-worker': source('vault/keychain/keychain-worker.ts'),
          'proxy-worker': source('proxy/proxy-worker.ts'),
        },
        // The maker of certificates registers its algorithms as it is loaded; nothing else here lives by that.
        treeshake: {
          moduleSideEffects: [
            { test: /reflect-metadata|@peculiar|tsyringe/, sideEffects: true },
            { test: /./, sideEffects: false },
          ],
        },
        output: {
          ...plainText,
          entryFileNames: '[name].js',
          chunkFileNames: '[name].js',
          codeSplitting: {
            groups: [
              {
                name: 'lean',
                test: (id) => lean.some((pattern) => path.matchesGlob(id, pattern)),
                includeDependenciesRecursively: false,
              },
            ],
          },
        },
      },
    },
  });
}

/** The client library in one file beside its types: programs pay for each file when they import it. */
async function bundleClient() {
  compile('src/client/tsconfig.json');
  await bundle('client/client', {
    ssr: { noExternal: true, target: 'node' },
    build: {
      ssr: true,
      target: 'node22',
      rolldownOptions: {
        input: { index: path.join(root, 'src', 'client', 'index.ts') },
        output: { ...plainText, entryFileNames: '[name].js' },
      },
    },
  });
}

async function buildRenderer() {
  const configFile = path.join(root, 'renderer', 'vite.config.ts');
  if (existsSync(configFile)) await build({ configFile, logLevel: 'warn' });
}

rmSync(dist, { recursive: true, force: true });
compile('src/server/tsconfig.json');
await bundleClient();
await bundleProgram();
// npm marks a package's commands as executable when it installs them; `npx keyturn` here runs ours in place.
chmodSync(path.join(dist, 'cli', 'bin.js'), 0o755);
await buildApp();
await buildRenderer();
