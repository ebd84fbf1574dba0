// Starts a Keyturn app that nobody changed (unpacked, packed or installed) in a home of its own, and looks at it from outside.
//
//   node scripts/smoke-electron.mjs [--output=FOLDER] PROGRAM [ARG…]
//
// The folder gets the app's log and a picture of the screen, whatever comes out.
// Needs the built command (`npm run build`). One JSON line a step; ends with exit code 1 at the first step that fails.
// Inside scripts/with-keyring.sh (Linux) it also checks the keychain and the process of the proxies.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';

const root = path.join(import.meta.dirname, '..');
const command = path.join(root, 'dist', 'cli', 'bin.js');
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const [first, ...others] = process.argv.slice(2);
const output = first?.startsWith('--output=') ? first.slice('--output='.length) : undefined;
const [program, ...args] = output === undefined ? [first, ...others] : others;
const usage = 'usage: node scripts/smoke-electron.mjs [--output=FOLDER] PROGRAM [ARG…]\n';
if (program === '--help') {
  process.stdout.write(usage);
  process.exit(0);
}
if (program === undefined) leave(2, usage);
if (!existsSync(command)) leave(1, 'The command is not built yet. Run: npm run build\n');

function leave(code, said) {
  process.stderr.write(said);
  process.exit(code);
}

// Short: the path of a Unix socket is bounded.
const folder = newFolder(process.platform === 'darwin' ? '/tmp' : tmpdir());

function newFolder(place) {
  try {
    return mkdtempSync(path.join(place, 'kt-smoke-'));
  } catch (error) {
    return leave(1, `No folder can be made in ${place} (${error.code}). TMPDIR chooses another.\n`);
  }
}

const hasKeyring = process.env.KEYTURN_TEST_KEYRING === '1';
const vault = hasKeyring ? 'keychain' : 'memory';
const home = path.join(folder, 'home');
const env = { ...process.env, KEYTURN_HOME: home, KEYTURN_VAULT: vault };
for (const kind of ['CONFIG', 'CACHE', 'DATA']) {
  env[`XDG_${kind}_HOME`] = path.join(folder, kind);
  mkdirSync(env[`XDG_${kind}_HOME`], { mode: 0o700 });
}
const started = [];
const left = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => left.abort());

const start = (...more) => launch(program, [...args, ...more]);

function launch(file, words) {
  const child = spawn(file, words, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const app = { child, said: '', exit: undefined };
  child.stderr.on('data', (text) => (app.said += text));
  child.once('error', (error) => (app.exit = error.message));
  child.once('exit', (code, signal) => (app.exit = signal ?? code));
  started.push(child);
  return app;
}

/** Resolves with what `look` finds. Fails after so many seconds, or if the app ended before. */
async function until(what, seconds, look, app) {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (app && app.exit !== undefined)
      throw new Error(`the app ended (${app.exit}): ${app.said.slice(0, 2000)}`);
    if (left.signal.aborted) throw new Error('interrupted');
    if (performance.now() > end)
      throw new Error(
        `not within ${seconds} s: ${what}. ${look === status ? silence : ''} ${app?.said.slice(0, 2000) ?? ''}`,
      );
    await sleep(100);
  }
}

const exits = (app, seconds) => until('the app ends', seconds, () => app.exit);

function keyturn(...words) {
  return execFileSync(process.execPath, [command, ...words], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 20_000,
  });
}

/** Why the last `status` failed. */
let silence = '';

function status() {
  try {
    return JSON.parse(keyturn('status', '--json'));
  } catch (error) {
    silence = String(error.stderr || error.message).trim();
    return undefined;
  }
}

function assert(isRight, said) {
  if (!isRight) throw new Error(said);
}

/** Processes below this one, wherever the system can tell. */
function descendants(pid) {
  if (process.platform === 'win32') return [];
  const rows = execFileSync('ps', ['-axo', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
  const pairs = rows.map((row) => row.trim().split(/\s+/).map(Number));
  const below = (parent) => pairs.filter(([, of]) => of === parent).flatMap(([one]) => [one, ...below(one)]);
  return below(pid);
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function isOpen(port) {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** A headless broker makes the proxy: with the app it needs a press on a card. */
async function addProxy() {
  if (!hasKeyring) return undefined;
  const broker = launch(process.execPath, [command, 'broker', 'run']);
  await until('the headless broker answers', 60, status, broker);
  const { port } = JSON.parse(keyturn('proxy', 'add', 'https://notes.example/mcp', '--json'));
  keyturn('broker', 'stop');
  await exits(broker, 20);
  return port;
}

let app;
let port;
const steps = {
  async start() {
    port = await addProxy();
    app = start('--hidden');
    const {
      version: found,
      vault: kept,
      vaultState,
      unshielded,
    } = await until('keyturn status answers', 60, status, app);
    assert(found === version, `it is version ${found}, not ${version}`);
    assert(kept === vault, `its vault is ${kept}, not ${vault}`);
    assert(['open', 'unused'].includes(vaultState.state), `its vault is ${vaultState.state}`);
    assert(!/could not be loaded/.test(unshielded.join()), 'its native calls could not be loaded');
  },
  async proxy() {
    if (!hasKeyring) return 'needs a throw-away keyring: sh scripts/with-keyring.sh';
    await until(`port ${port} of the proxy is open`, 30, () => isOpen(port), app);
    // Reads the vault.
    keyturn('unlock');
    assert(status()?.vaultState.state === 'open', 'its keychain does not work');
  },
  async second() {
    const second = start('--hidden');
    assert((await exits(second, 60)) === 0, `a second start ended with ${second.exit}: ${second.said}`);
    assert(status() !== undefined, 'after a second start the first no longer answers');
  },
  async switches() {
    for (const refused of [
      '--remote-debugging-port=0',
      '--no-sandbox',
      '--inspect=0',
      '--js-flags=--expose-gc',
    ]) {
      const child = start(refused);
      const code = await exits(child, 60);
      // With the fuses of a package Node itself refuses some, with another code.
      assert(code !== 0 && status() !== undefined, `it took ${refused} (${code})`);
    }
  },
  log() {
    const file = path.join(home, 'state', 'broker.log');
    const log = existsSync(file) ? readFileSync(file, 'utf8') : app.said;
    assert(log.includes('started: version'), `${file} says nothing of its start`);
    const [line] = /^.*(?: error |app: \w*Error|fault).*$/m.exec(`${log}\n${app.said}`) ?? [];
    assert(line === undefined, `it noted: ${line}`);
  },
  async stop() {
    const children = descendants(app.child.pid);
    if (process.platform === 'win32') keyturn('broker', 'stop');
    else app.child.kill('SIGTERM');
    assert((await exits(app, 20)) === 0, `it ended with ${app.exit}: ${app.said}`);
    await until('its children end', 5, () => !children.some(isAlive));
  },
  async window() {
    if (process.platform === 'linux' && !process.env.DISPLAY) return 'needs an X display: xvfb-run';
    const shown = start();
    // Only X tells what one window shows.
    const look = process.platform === 'linux' ? () => coloursOf('Keyturn') : status;
    const found = await until('a window with more than a few colours', 60, look, shown);
    if (process.platform !== 'linux') await sleep(5000);
    keepScreen();
    if (process.platform === 'win32') keyturn('broker', 'stop');
    else shown.child.kill('SIGTERM');
    await exits(shown, 20);
    return process.platform === 'linux' ? `${found} colours` : 'look at the picture: nothing checks it';
  },
};

/** How each system draws its screen into a file. */
const screenCommands = {
  linux: (file) => ['import', '-window', 'root', file],
  darwin: (file) => ['screencapture', '-x', file],
  win32: (file) => [
    'powershell',
    '-NoProfile',
    '-Command',
    `Add-Type -AssemblyName System.Windows.Forms, System.Drawing
     $area = [System.Windows.Forms.SystemInformation]::VirtualScreen
     $picture = New-Object System.Drawing.Bitmap $area.Width, $area.Height
     [System.Drawing.Graphics]::FromImage($picture).CopyFromScreen($area.Location, [System.Drawing.Point]::Empty, $area.Size)
     $picture.Save('${file}')`,
  ],
};

/** A machine without a screen gives no picture, which is no fault of the app. */
function keepScreen() {
  if (output === undefined) return;
  const [tool, ...words] = screenCommands[process.platform](path.resolve(output, 'screen.png'));
  try {
    execFileSync(tool, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    writeFileSync(path.join(output, 'screen.txt'), `no picture: ${error.message}\n`);
  }
}

function keepLog() {
  if (output === undefined) return;
  const file = path.join(home, 'state', 'broker.log');
  if (existsSync(file)) copyFileSync(file, path.join(output, 'broker.log'));
  if (app !== undefined) writeFileSync(path.join(output, 'stderr.txt'), app.said);
}

/** Of the window with this title, by ImageMagick. False: there is none yet, or it is flat. */
function coloursOf(title) {
  let pixels;
  try {
    pixels = execFileSync('import', ['-window', title, '-depth', '8', 'rgb:-'], {
      maxBuffer: 2 ** 28,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch (error) {
    if (error.code === 'ENOENT')
      throw new Error('ImageMagick is missing: apt-get install imagemagick', { cause: error });
    return false;
  }
  const seen = new Set();
  for (let at = 0; at + 2 < pixels.length; at += 3) seen.add(pixels.readUIntBE(at, 3));
  return seen.size > 8 && seen.size;
}

if (output !== undefined) mkdirSync(output, { recursive: true });
try {
  for (const [step, run] of Object.entries(steps)) {
    try {
      const note = await run();
      process.stdout.write(`${JSON.stringify({ step, ok: true, ...(note && { note }) })}\n`);
    } catch (error) {
      process.stdout.write(`${JSON.stringify({ step, ok: false, why: error.message })}\n`);
      process.exitCode = 1;
      break;
    }
  }
} finally {
  for (const child of started) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue;
    const below = descendants(child.pid);
    child.kill('SIGKILL');
    for (const pid of below.filter(isAlive)) process.kill(pid, 'SIGKILL');
  }
  keepLog();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
