/**
 * Starts the headless broker when none runs, as gpg's tools start their agent, or has systemd start the service.
 *
 * Invariant: what this process starts gets an allow-list of the environment. What decides about browser,
 * authorities, proxy, vault and insecure loopback is passed on only while there is no home yet; the
 * broker records it then. Nothing else that changes how Node itself runs is ever passed on.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Connection } from '../../client/connection.ts';
import { quoted, type Reason } from '../../base/errors.ts';
import { homePaths } from '../../base/paths.ts';
import { recordedSocket } from '../../ipc/wire/socket-path.ts';
import { isSingle } from '../../base/system/single.ts';
import { unitState } from '../../service/systemctl.ts';
import { startService } from '../../service/user-units.ts';
import { systemCode } from '../../base/system-error.ts';
import { isHome } from './home-files.ts';
import { connectSoon, keyLost } from './lost-socket.ts';
import { NotStarted } from './no-broker.ts';
import { say } from '../terminal/output.ts';

const passed = [
  /^(HOME|USER|LOGNAME|PATH|LANG|LANGUAGE|TZ|TMPDIR|KEYTURN_HOME)$/,
  /^(USERPROFILE|APPDATA|LOCALAPPDATA|SYSTEMROOT|SYSTEMDRIVE|TEMP|TMP)$/i,
  /^(LC|XDG|DBUS|WAYLAND|WSL)_/,
  /^(DISPLAY|XAUTHORITY)$/,
];

const recordedAtCreation = [
  /^KEYTURN_(VAULT|VAULT_KEY|BROWSER|CLIENT_METADATA_URL|ALLOW_INSECURE_LOOPBACK)$/,
  /^(BROWSER|NODE_EXTRA_CA_CERTS|HTTPS_PROXY|https_proxy|ALL_PROXY|all_proxy|NO_PROXY|no_proxy)$/,
];

/** Milliseconds. A cold start takes a quarter of a second; a loaded machine may need many times that. */
const startTimeout = 20_000;

/** Starts a broker and connects to it as the owner. Throws `broker_unreachable` with what it complained about. */
export async function startBroker(): Promise<Connection> {
  if (await startService()) {
    const served = await reachService();
    if (served) return served;
  }
  if (!isSingle && !existsSync(bin))
    throw new NotStarted('broker_unreachable', `Keyturn is not at ${quoted(bin)} any more.`, {
      hint: 'It was updated or moved: restart what runs it. If it fails again: keyturn setup',
    });
  let refusal: NotStarted | undefined;
  for (const deadline = Date.now() + startTimeout; Date.now() < deadline;) {
    const outcome = await spawnBroker();
    if (outcome === 'killed') refusal = notStarted('Something kills it while it starts.');
    const connection = await connectSoon();
    if (connection) return connection;
  }
  throw refusal ?? keyLost(homePaths()) ?? unreachable();
}

/** Waits for what systemd starts. Undefined where that ends, or is another home's: what this process starts says why. */
async function reachService(): Promise<Connection | undefined> {
  const deadline = Date.now() + startTimeout;
  do {
    const connection = await connectSoon();
    if (connection) return connection;
  } while (
    Date.now() < deadline &&
    !['failed', 'inactive'].includes(await unitState('is-active', 'keyturn.service').catch(() => 'failed'))
  );
  return undefined;
}

/** It runs where its socket can't be seen from here, or it hangs. */
function unreachable(): NotStarted {
  const socket = recordedSocket(homePaths());
  const where = socket === undefined ? '' : ` at ${quoted(socket)}`;
  return new NotStarted('broker_unreachable', `A broker holds this home, and does not answer${where}.`, {
    hint: 'If this is a sandbox or a container, `keyturn forward open` lets it in. Else replace that broker: keyturn broker restart',
  });
}

/** Resolves when a broker is up, ours or one that was faster; `killed`: a signal ended ours before. */
async function spawnBroker(): Promise<'up' | 'killed'> {
  const child = spawnDetached();
  // In a script's log it would be noise.
  const slow = setTimeout(() => process.stderr.isTTY && say('keyturn: starting the broker…'), 1000);
  try {
    const outcome = await readiness(child);
    if (typeof outcome === 'string') return outcome;
    throw notStarted(outcome.problem);
  } finally {
    clearTimeout(slow);
    child.stdout?.destroy();
    child.stderr?.destroy();
    child.unref();
  }
}

/** Where the command begins. Once built, all its files are in one folder (scripts/build.mjs). */
const bin = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../bin.ts' : './bin.js', import.meta.url),
);

/**
 * How Node runs what we leave behind. Until the process handles SIGUSR1 itself, the first flag keeps the signal from
 * opening an inspector (shield.ts). The second bounds V8's space for new objects, in MiB: it grows with the work to 32,
 * never shrinks, and made a broker that had served 50,000 requests larger by 90 MB and no faster (`npm run bench`).
 */
export const nodeFlags: readonly string[] = ['--disable-sigusr1', '--max-semi-space-size=2'];

/** It outlives this process: in a session and a folder of its own, with the allow-list's environment. */
function spawnDetached() {
  const args = ['broker', 'run', '--auto-started'];
  const { HOME = '' } = process.env;
  return spawn(process.execPath, isSingle ? args : [...nodeFlags, bin, ...args], {
    // A folder that stays: the starter's own could be removed, or hold a disk that is to be unmounted.
    cwd: path.isAbsolute(HOME) && existsSync(HOME) ? HOME : path.parse(process.execPath).root,
    env: environmentFor(process.env),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    windowsHide: true,
  });
}

type Readiness = 'up' | 'killed' | { readonly problem: string };

/** `up` when the broker said that it is ready, or that another one is; else its complaint. */
async function readiness(child: ReturnType<typeof spawn>): Promise<Readiness> {
  let complaint = '';
  child.stderr?.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  const late = setTimeout(() => {
    complaint += `It was not ready within ${startTimeout / 1000} s.`;
    child.kill('SIGKILL');
  }, startTimeout);
  return new Promise<Readiness>((resolve) => {
    child.stdout?.once('data', () => resolve('up'));
    child.once('error', (error) =>
      resolve({ problem: `The system could not start a process (${systemCode(error)}).` }),
    );
    child.once('close', (code, signal) => {
      // Another start was faster: that broker serves as well. Any other refusal is what the user must read.
      if (complaint.includes(`reason: ${'broker_running' satisfies Reason}`)) resolve('up');
      else if (signal !== null && complaint === '') resolve('killed');
      else resolve({ problem: complaint.trim() || `It ended at once (${code ?? 'by a signal'}).` });
    });
  }).finally(() => clearTimeout(late));
}

function notStarted(problem: string): NotStarted {
  return new NotStarted('broker_unreachable', `The broker could not be started.\n${problem}`, {
    hint: 'Run `keyturn broker run` in a terminal to see more.',
  });
}

/** The environment of an auto-started broker. */
export function environmentFor(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const allowed = isHome(homePaths(env)) ? passed : [...passed, ...recordedAtCreation];
  const kept = Object.entries(env).filter(([name]) => allowed.some((pattern) => pattern.test(name)));
  const { KEYTURN_HOME: home, ...rest } = Object.fromEntries(kept);
  return home ? { ...rest, KEYTURN_HOME: home } : rest;
}
