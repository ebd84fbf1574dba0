/** `keyturn service`: runs the broker as a service of the user's systemd. */
import { existsSync } from 'node:fs';
import { KeyturnError } from '../../base/errors.ts';
import { appCommandFile, homePaths } from '../../base/paths.ts';
import { stopBroker } from '../broker/restart.ts';
import { systemctl, unitState } from '../../service/systemctl.ts';
import { removeService, removeUnits, unitFile, unitNames } from '../../service/user-units.ts';
import { removeEmpty, writeUnits } from '../service/units.ts';
import { defineCommand, defineNoun } from '../terminal/command.ts';
import { print, say } from '../terminal/output.ts';

const installService = defineCommand(
  {
    name: 'service install',
    summary: 'Install and start the service',
    options: {
      socket: {
        type: 'boolean',
        summary: 'start the broker at the first connection',
        more: ', not at login; not where the Keyturn app is used',
      },
    },
    about:
      'Run the broker of this home as a service of your systemd: from login to logout, restarted after a failure, with fewer rights. A broker that runs is stopped first.',
    notes: ['loginctl enable-linger keeps your services running while you are logged out.'],
    examples: ['keyturn service install', 'keyturn service install --socket'],
  },
  async ({ options: { socket = false } }) => onLinux(async () => install(socket)),
);

const uninstall = defineCommand(
  {
    name: 'service uninstall',
    summary: 'Stop and remove the service',
    about: 'Stop the service and remove what install wrote. The home stays.',
    examples: ['keyturn service uninstall'],
  },
  async () => onLinux(remove),
);

const showStatus = defineCommand(
  {
    name: 'service status',
    summary: 'Show what systemd says of the service',
    about: 'Show for each unit whether systemd starts it, and whether it runs.',
    examples: ['keyturn service status'],
  },
  async () => onLinux(status),
);

export const command = defineNoun(
  'service',
  'Run the broker as a systemd service',
  { install: installService, uninstall, status: showStatus },
  'status',
);

async function onLinux(work: () => Promise<void>): Promise<void> {
  if (process.platform !== 'linux')
    throw new KeyturnError('invalid_request', 'Only Linux has systemd.', {
      hint: '`keyturn broker run` runs the broker in a terminal.',
    });
  await work();
}

async function install(withSocket: boolean): Promise<void> {
  if (withSocket && existsSync(appCommandFile(homePaths())))
    throw new KeyturnError(
      'conflict',
      'The Keyturn app uses this home, and systemd would keep the socket from it.',
      { hint: 'keyturn service install, without --socket; or another KEYTURN_HOME.' },
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
  for (const name of unitNames) {
    // First: this question needs a systemd that runs.
    const active = await unitState('is-active', name);
    const enabled = await unitState('is-enabled', name);
    print(`${name.padEnd(16)} ${enabled}, ${active}`);
  }
}
