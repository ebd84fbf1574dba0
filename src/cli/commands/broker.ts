/** `keyturn broker`: the broker without a window, in the foreground; stops, replaces or restarts the one that runs. */
import path from 'node:path';
import type { Daemon } from '../../daemon/daemon.ts';
import { exitCodes } from '../../base/errors.ts';
import { homePaths } from '../../base/paths.ts';
import { refuseExposure, shieldProcess } from '../../base/shield.ts';
import { takeOver } from '../../client/takeover.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { say } from '../terminal/output.ts';
import { stopBroker } from '../broker/restart.ts';

const run = defineCommand(
  {
    name: 'broker run',
    summary: 'Run the broker in this terminal',
    options: {
      replace: { type: 'boolean', summary: 'first stop the one that runs' },
      'auto-started': {
        type: 'boolean',
        hidden: true,
        summary: 'a command starts it, and waits until it is ready',
      },
    },
    about:
      'Run the broker in this terminal until you interrupt it. You rarely need this: other commands start one in the background.',
    notes: [
      'A broker in the background writes its log to broker.log in the state folder.',
      'Apps that wait for you repeat their request to the next broker, if one starts soon.',
    ],
    environment: {
      about: 'Environment (docs/reference/settings.md):',
      variables: [
        'KEYTURN_HOME',
        'KEYTURN_VAULT=keychain|sealed-file|memory',
        'KEYTURN_VAULT_KEY',
        'KEYTURN_BROWSER or BROWSER',
        'KEYTURN_CLIENT_METADATA_URL',
        'NODE_EXTRA_CA_CERTS',
        'HTTPS_PROXY',
        'NO_PROXY',
        'KEYTURN_ALLOW_INSECURE_LOOPBACK=1 (http on loopback hosts, for development)',
      ],
    },
    examples: ['keyturn broker run', 'keyturn broker run --replace'],
  },
  async ({ options: { replace, 'auto-started': autoStarted = false } }) =>
    replace
      ? serve(await takeOver(async () => start(false), stopBroker))
      : serve(await start(autoStarted), autoStarted),
);

const stop = defineCommand(
  {
    name: 'broker stop',
    summary: 'Stop the broker, after its refreshes',
    about: 'Stop the broker of this home, after its refreshes. Succeeds if none runs.',
    examples: ['keyturn broker stop'],
  },
  async () => {
    if (!(await stopBroker())) say('keyturn: no broker runs for this home.');
  },
);

const restart = defineCommand(
  {
    name: 'broker restart',
    summary: 'Stop the broker, and start one in the background',
    about: 'Stop the broker of this home if one runs, and start one in the background.',
    examples: ['keyturn broker restart'],
  },
  async () => {
    const { restartWithNews } = await import('../broker/restarted.ts');
    const { isClosed, lines } = await restartWithNews();
    if (isClosed) for (const line of lines) say(line);
  },
);

export const command = defineNoun('broker', 'Run, stop or restart the broker', { run, stop, restart });

/**
 * A command that finds the home's lock held and no socket sends this (cli/broker/lost-socket.ts). Otherwise, a terminal
 * that is closed does; a broker in the background has none.
 */
async function hangUp(daemon: Daemon, autoStarted: boolean): Promise<void> {
  const wasLost = await daemon.lookForSocket();
  if (!wasLost && !autoStarted) await daemon.stop();
}

async function start(autoStarted: boolean): Promise<Daemon> {
  // A command may take a broker that is still starting for one whose socket is gone.
  process.on('SIGHUP', () => undefined);
  refuseExposure();
  // Only the user may read the files that we create.
  process.umask(0o077);
  const { startDaemon } = await import('../../daemon/daemon.ts');
  const { isService, openBrowser } = await import('../../daemon/system/browser.ts');
  const { FileLog, terminalLog } = await import('../../daemon/system/log.ts');
  const { removeHomeFiles } = await import('../broker/home-files.ts');
  const paths = homePaths();
  const log = autoStarted
    ? new FileLog(path.join(paths.state, 'broker.log'), () => Date.now())
    : terminalLog((line) => say(`keyturn: ${line}`));
  return startDaemon({
    paths,
    env: process.env,
    autoStarted,
    openBrowser: (url, browser, env) =>
      openBrowser(url, {
        env,
        isService: isService(process.env),
        command: browser,
      }),
    ownsProcess: true,
    removeFiles: (kept, unlock) => void removeHomeFiles(paths, kept, unlock),
    log,
    shield: shieldProcess,
  });
}

/** What a terminal or a service manager ends the broker with. */
const ending = ['SIGINT', 'SIGTERM'] as const;

async function serve(daemon: Daemon, autoStarted = false): Promise<number> {
  // Not only once: the first signal waits for rotations under way, and a second one must not cut them off.
  for (const signal of ending) process.on(signal, () => void daemon.stop());
  process.on('SIGHUP', () => void hangUp(daemon, autoStarted));
  // The starter waits for this line; it shows a user where the broker listens.
  if (autoStarted) process.stdout.write('ready\n');
  else say(`keyturn: the broker listens on ${daemon.socket}. Interrupt to stop it.`);
  await daemon.stopped;
  // What must last is on disk. A sign-in page that nobody finished would keep the process for minutes.
  process.exit(exitCodes.ok);
}
