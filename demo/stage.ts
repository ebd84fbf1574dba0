/**
 * The demo's stage: real servers, a real broker in a home of its own, and the `keyturn` command.
 *
 * Invariant: everything lies in one temporary folder and goes with it; the user's own home,
 * keychain and browser profile are never touched.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { serve, type Served } from './served.ts';

const root = path.join(import.meta.dirname, '..');
const bin = path.join(root, 'dist', 'cli', 'bin.js');

/** Seconds an access token lives here: short, so that its end can be watched. */
export const tokenLifetime = 4;

/** The same where a token is to be refused for another reason than its age. */
const boundLifetime = 300;

export interface Stage {
  readonly servers: Served;
  /** Servers of their own, of which the protected one takes only tokens that are bound to a DPoP key. */
  readonly bound: Served;
  readonly home: string;
  /** Says where secrets rest and who signs in, for the first lines. */
  readonly vault: string;
  readonly browser: string;
  /** The address of the throw-away keyring's session; undefined where tokens rest in memory. */
  readonly bus: string | undefined;
  /** The built command, a file for Node. */
  readonly bin: string;
  /** PEM file of the authorities of all servers. */
  readonly caFile: string;
  /** The environment of programs that talk to this home. */
  readonly env: NodeJS.ProcessEnv;
  /** Runs `keyturn ARGS` as a process of its own; resolves with its output and exit code. */
  keyturn(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }>;
  close(): Promise<void>;
}

export async function setStage(useBrowser: boolean): Promise<Stage> {
  // A short name: a socket's path has room for 103 bytes.
  const folder = await mkdtemp(path.join(tmpdir(), 'keyturn-demo-'));
  const [servers, bound] = await Promise.all([
    serve(bin, { folder: path.join(folder, 'open'), lifetime: tokenLifetime, dpop: 'taken' }),
    serve(bin, { folder: path.join(folder, 'bound'), lifetime: boundLifetime, dpop: 'required' }),
  ]);
  const caFile = path.join(folder, 'authorities.pem');
  await writeFile(
    caFile,
    (await Promise.all([servers, bound].map((each) => readFile(each.caFile)))).join('\n'),
  );
  const home = path.join(folder, 'home');
  const keyring = hasKeyring() ? await startKeyring() : undefined;
  const agent = `${process.execPath} ${path.join(root, 'demo', 'user-agent.ts')}`;
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    KEYTURN_HOME: home,
    KEYTURN_VAULT: keyring ? 'keychain' : 'memory',
    ...(keyring ? { DBUS_SESSION_BUS_ADDRESS: keyring.bus } : {}),
    NODE_EXTRA_CA_CERTS: caFile,
    ...(useBrowser ? {} : { KEYTURN_BROWSER: agent }),
  };
  // A group of its own: an interrupt at the terminal reaches the demo, which then stops the broker in good order.
  const broker = spawn(process.execPath, [bin, 'broker', 'run'], { env, stdio: 'ignore', detached: true });
  const keyturn = (...args: string[]) => runCommand(args, env);
  await untilUp(keyturn, broker);
  return {
    servers,
    bound,
    home,
    vault: keyring ? 'a throw-away keyring (the real Secret Service)' : 'memory (no keychain here)',
    browser: useBrowser ? 'your browser' : 'a headless user agent (no display, or nobody to watch one)',
    bus: keyring?.bus,
    bin,
    caFile,
    env,
    keyturn,
    async close() {
      await keyturn('broker', 'stop');
      await ended(broker);
      await keyring?.end();
      await Promise.all([servers.close(), bound.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/**
 * A private session with a keyring of its own, so that nobody's own is written to. It outlives each broker, so
 * that one that is started anew finds its tokens, and ends with this process at the latest: its input closes then.
 */
async function startKeyring(): Promise<{ readonly bus: string; end(): Promise<void> }> {
  const holder = 'printf "%s\\n" "$DBUS_SESSION_BUS_ADDRESS"; cat >/dev/null';
  const session = spawn('sh', [path.join(root, 'scripts', 'with-keyring.sh'), 'sh', '-c', holder], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  const [line] = await Promise.race([once(session.stdout, 'data'), once(session, 'close')]);
  if (!Buffer.isBuffer(line)) throw new Error('The throw-away keyring did not start.');
  return {
    bus: line.toString().trim(),
    end: async () => {
      session.stdin.end();
      await ended(session);
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
}

function hasKeyring(): boolean {
  const tools = ['dbus-run-session', 'gnome-keyring-daemon', 'gdbus'];
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  if (!tools.every((tool) => folders.some((folder) => existsSync(path.join(folder, tool))))) return false;
  const keytar = createRequire(import.meta.url).resolve('keytar/package.json');
  return (
    spawnSync(process.execPath, ['-e', `require(${JSON.stringify(path.dirname(keytar))})`], {
      stdio: 'ignore',
    }).status === 0
  );
}

function runCommand(
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [bin, ...args], { env }, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? 1, stdout, stderr });
    });
  });
}

/**
 * Looks for the broker until it answers. A minute is for a machine that has much else to do; a broker that ended is not
 * waited for.
 */
async function untilUp(keyturn: Stage['keyturn'], broker: ChildProcess): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const status = await keyturn('status');
    if (status.code === 0) return;
    const gone = broker.exitCode ?? broker.signalCode;
    if (gone === null && Date.now() < deadline) continue;
    const what = gone === null ? 'did not come up within a minute' : `ended (${gone})`;
    throw new Error(`The broker ${what}. keyturn status: ${status.stderr.trim()}`);
  }
}
