/** `keyturn lock`: locks the vault of the running broker. Starts none. */
import { exitCodes } from '../../base/errors.ts';
import { parse } from '../terminal/arguments.ts';
import { call } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';
import { connectIfRunning } from '../broker/connection.ts';
import { say } from '../terminal/output.ts';

const help = `Usage: keyturn lock
Lock the vault until you unlock it: the broker lets go of the keys and tokens in
its memory, and programs are refused. Refreshes under way are finished first.

  -h, --help  show this

Example:
  keyturn lock
`;

export const command: Command = {
  help,
  async run(args) {
    parse(args, {}, { names: [], command: 'lock' });
    const connection = await connectIfRunning();
    if (!connection) {
      say('keyturn: no broker runs for this home; there is nothing to lock.');
      return exitCodes.ok;
    }
    try {
      const { vaultState } = await call(connection, 'status', {});
      await call(connection, 'vault.lock', {});
      if (vaultState.state === 'locked') say('keyturn: the vault was locked already.');
    } finally {
      connection.close();
    }
    return exitCodes.ok;
  },
};
