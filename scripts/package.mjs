// Packs the desktop app with electron-builder into release/. Arguments go to it: `-- --dir` packs the
// folder only. ELECTRON_OVERRIDE_DIST_PATH names a local Electron, for a machine that can't download one; it is for one
// processor, so not for macOS.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
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

/** What notarytool signs in with, in each of its three ways. Electron-builder goes on without any, and says so in one line only. */
const notarizing = [
  ['APPLE_API_KEY', 'APPLE_API_KEY_ID', 'APPLE_API_ISSUER'],
  ['APPLE_ID', 'APPLE_APP_SPECIFIC_PASSWORD', 'APPLE_TEAM_ID'],
  ['APPLE_KEYCHAIN_PROFILE'],
];

/** Ends here if the app for macOS would lack what one of the two processors loads: npm installs the machine's own only. */
function requireBothProcessors() {
  const { version } = JSON.parse(
    readFileSync(path.join(root, 'node_modules', 'koffi', 'package.json'), 'utf8'),
  );
  const names = ['x64', 'arm64'].map((processor) => `@koromix/koffi-darwin-${processor}`);
  if (names.every((name) => existsSync(path.join(root, 'node_modules', name)))) return;
  const wanted = names.map((name) => `${name}@${version}`).join(' ');
  process.stderr.write(
    `A package for macOS is for both processors, and koffi is here for one at most. Run this first:\n  npm install --no-save --force --ignore-scripts ${wanted}\n`,
  );
  process.exit(1);
}

const flags = process.argv.slice(2);
const isForMac = flags.some((flag) => flag === '--mac' || flag === '-m' || flag === '--macos');
const isFolderOnly = flags.includes('--dir');
const names = flags.filter((flag) => /^--(linux|win|windows)$|^-[lw]$/.test(flag));
const makesMac = isForMac || (process.platform === 'darwin' && names.length === 0);
if (makesMac && !isFolderOnly) {
  const canNotarize = notarizing.some((variables) => variables.every((name) => process.env[name]));
  if (!canNotarize) {
    process.stderr.write(
      `A package for macOS is notarized, and nothing says as whom. Set one of these in the environment:\n${notarizing
        .map((variables) => `  ${variables.join(', ')}`)
        .join('\n')}\nTo look at the app alone: npm run package -- --mac --dir\n`,
    );
    process.exit(1);
  }
}

/** Those for which there is an executable of one file, which is built on Linux only. */
function systemsToBring() {
  if (process.platform !== 'linux') return [];
  if (names.length === 0 && !isForMac) return ['linux'];
  const isAsked = (name) => names.some((flag) => flag.replace(/^-+/, '').startsWith(name));
  return [...(isAsked('l') ? ['linux'] : []), ...(isAsked('w') ? ['windows'] : [])];
}

// A folder alone is for the processor of this machine.
if (makesMac && (!isFolderOnly || flags.includes('--universal'))) requireBothProcessors();

run(path.join('scripts', 'build.mjs'), []);
// Electron-builder counts it from this project's folder.
process.env.KEYTURN_EXECUTABLES = 'release';
const brought = systemsToBring();
if (brought.length > 0)
  run(
    path.join('scripts', 'package-single.ts'),
    brought.flatMap((system) => ['--system', system]),
  );
else
  process.stderr.write(
    'The app brings no keyturn along: its executable is built on Linux, for Linux and Windows.\n',
  );
run(path.join('node_modules', 'electron-builder', 'cli.js'), [
  // Keytar for each of its processors.
  ...(makesMac ? ['-c.npmRebuild=true'] : []),
  // A folder to look at: signed by nobody, so that it starts on this Mac and needs no certificate.
  ...(makesMac && isFolderOnly
    ? ['-c.mac.forceCodeSigning=false', '-c.mac.identity=-', '-c.mac.hardenedRuntime=false']
    : []),
  ...(local ? [`-c.electronDist=${path.resolve(local)}`] : []),
  ...flags,
]);
