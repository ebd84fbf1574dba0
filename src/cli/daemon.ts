/** `keyturn daemon`: the headless broker, in the foreground; or stops the one that runs. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openBrowser } from '../daemon/browser.ts';
import { startDaemon } from '../daemon/daemon.ts';
import { logFile } from '../daemon/log-file.ts';
import type { Log } from '../daemon/log-file.ts';
import { exitCodes } from '../errors.ts';
import { homePaths } from '../paths.ts';
import { parse } from './arguments.ts';
import { call } from './command.ts';
import type { Command } from './command.ts';
import { connectIfRunning } from './connection.ts';
import { say } from './output.ts';

const help = `Usage: keyturn daemon [--stop]
Run the broker in this terminal until it is interrupted. Other commands start
one by themselves where none runs; it then writes its log to daemon.log in the
state folder.

      --stop  stop the broker of this home; finishes refreshes first
  -h, --help  show this

Environment (recorded when the home is created; docs/settings.md):
  KEYTURN_HOME, KEYTURN_VAULT=keychain|memory, KEYTURN_BROWSER or BROWSER,
  KEYTURN_CLIENT_METADATA_URL, NODE_EXTRA_CA_CERTS, HTTPS_PROXY, NO_PROXY,
  KEYTURN_ALLOW_INSECURE_LOOPBACK=1 (http on loopback hosts, for development)
`;

export const command: Command = {
  help,
  async run(args) {
    const { values } = parse(
      args,
      { stop: { type: 'boolean' }, 'auto-started': { type: 'boolean' } },
      { names: [], command: 'daemon' },
    );
    return values.stop ? stop() : serve(values['auto-started'] === true);
  },
};

async function serve(autoStarted: boolean): Promise<number> {
  // Files that we create are the user's alone.
  process.umask(0o077);
  const paths = homePaths();
  const log = autoStarted ? logFile(paths) : terminalLog();
  const daemon = await startDaemon({
    paths,
    env: process.env,
    autoStarted,
    openBrowser: (url, browser) =>
      openBrowser(url, { env: process.env, ...(browser === undefined ? {} : { command: browser }) }),
    log: log.write,
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void daemon.stop());
  // The starter waits for this line; a person is told where the broker listens.
  if (autoStarted) process.stdout.write('ready\n');
  else say(`keyturn: the broker listens on ${daemon.socket}. Interrupt to stop it.`);
  await daemon.stopped;
  await log.end();
  // What must last is on disk. A sign-in page that nobody finished would keep the process for minutes.
  process.exit(exitCodes.ok);
}

/** Refusals only: a line for every connection would drown them. */
function terminalLog(): Log {
  return {
    write: (line) => {
      if (line.includes('"refused"') || !line.startsWith('{')) say(`keyturn: ${line}`);
    },
    end: () => Promise.resolve(),
  };
}

/** Milliseconds to wait for a stopping broker: a refresh under way has this long. */
const stopPatience = 30_000;
const lookEvery = 25;

async function stop(): Promise<number> {
  const connection = await connectIfRunning();
  if (!connection) {
    say('keyturn: no broker runs for this home.');
    return exitCodes.ok;
  }
  const { pid } = await call(connection, 'status', {});
  await call(connection, 'daemon.stop', {});
  connection.close();
  for (let waited = 0; isAlive(pid) && waited < stopPatience; waited += lookEvery) await sleep(lookEvery);
  return exitCodes.ok;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0) && !isZombie(pid);
  } catch {
    return false;
  }
}

/** Ended, but its parent hasn't collected it: in a container without an init nobody ever may. */
function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return false;
  return /^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}
