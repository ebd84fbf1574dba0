/** `keyturn service`: runs the broker as a service of the user's systemd. */
import { existsSync } from 'node:fs';
import { exitCodes, KeyturnError } from '../../base/errors.ts';
import { deskCommandFile, homePaths } from '../../base/paths.ts';
import { stopBroker } from '../broker/restart.ts';
import { NoSystemd, systemctl, unitState } from '../../service/systemctl.ts';
import { removeService, removeUnits, unitFile, unitNames } from '../../service/user-units.ts';
import { removeEmpty, writeUnits } from '../service/written-units.ts';
import { UsageError } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';
import { print, say } from '../terminal/output.ts';

const actions = ['install', 'remove', 'status'] as const;

export const command = defineCommand(
  {
    name: 'service',
    summary: 'run the broker as a service of systemd',
    operands: [{ name: 'install|remove|status', values: actions }],
    options: {
      socket: {
        type: 'boolean',
        summary: 'with install: start it at the first connection',
        more: ', not at login; not where the desktop app is used',
      },
    },
    about:
      'Run the broker of this home as a service of your systemd: from login to logout, started again after a failure, with fewer rights.',
    terms: {
      install: 'writes the unit, stops a broker that runs, and starts the service',
      remove: 'stops the service and removes what install wrote; the home stays',
      status: 'shows what systemd says of it',
    },
    notes: ['loginctl enable-linger keeps your services running while you are logged out.'],
    examples: ['keyturn service install', 'keyturn service status'],
  },
  async ({ operands: [action], options: { socket = false } }) => {
    if (socket && action !== 'install') throw new UsageError('--socket goes with install only');
    if (process.platform !== 'linux')
      throw new KeyturnError('invalid_request', 'Only Linux has systemd.', {
        hint: '`keyturn daemon` runs the broker in a terminal.',
      });
    if (action === 'install') await install(socket);
    else if (action === 'remove') await remove();
    else await status();
    return exitCodes.ok;
  },
);

async function install(withSocket: boolean): Promise<void> {
  if (withSocket && existsSync(deskCommandFile(homePaths())))
    throw new KeyturnError(
      'conflict',
      'The desktop app uses this home, and systemd would keep the socket from it.',
      {
        hint: 'keyturn service install, without --socket; or another KEYTURN_HOME.',
      },
    );
  const made = writeUnits(withSocket);
  try {
    await systemctl(['daemon-reload']);
  } catch (error) {
    removeUnits();
    if (made !== undefined) removeEmpty(made);
    throw error;
  }
  await stopBroker();
  await systemctl(['enable', '--now', withSocket ? 'keyturn.socket' : 'keyturn.service']);
  say(
    withSocket
      ? 'keyturn: systemd starts the broker at the first connection, from now on and after each login.'
      : 'keyturn: systemd runs the broker, from now on and after each login.',
  );
}

async function remove(): Promise<void> {
  const files = unitNames.map((name) => unitFile(name));
  if (!files.some((file) => existsSync(file)))
    return say(`keyturn: no service is installed: ${files.join(' and ')} are not there.`);
  for (const file of await removeService()) say(`keyturn: removed ${file}`);
}

async function status(): Promise<void> {
  try {
    for (const name of unitNames) {
      // First: this question needs a systemd that runs.
      const active = await unitState('is-active', name);
      const enabled = await unitState('is-enabled', name);
      print(`${name.padEnd(16)} ${enabled}, ${active}`);
    }
  } catch (error) {
    if (!(error instanceof NoSystemd)) throw error;
    print(error.message);
  }
}
