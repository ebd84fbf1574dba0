/** `keyturn passphrase`: puts the vault under another passphrase. */
import { exitCodes } from '../../base/errors.ts';
import { parse } from '../terminal/arguments.ts';
import { call, interruptible } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';
import { connect } from '../broker/connection.ts';
import { askPassphrase, choosePassphrase, linesFromStdin } from '../terminal/passphrase-prompt.ts';

const help = `Usage: keyturn passphrase [--passphrase-stdin]
Change the passphrase of a sealed-file vault. The vault must be unlocked, and
everything in it is sealed anew: an old copy and the old passphrase show
nothing newer.

      --passphrase-stdin  read two lines: the passphrase as it is, and the new one
  -h, --help              show this

Example:
  keyturn passphrase
`;

export const command: Command = {
  help,
  async run(args) {
    const { values } = parse(
      args,
      { 'passphrase-stdin': { type: 'boolean' } },
      { names: [], command: 'passphrase' },
    );
    const given = values['passphrase-stdin'] ? await linesFromStdin(2, 'passphrase') : undefined;
    const connection = await connect();
    await interruptible(connection, async () => {
      const [current, next] = given ?? [
        await askPassphrase('passphrase as it is'),
        await choosePassphrase('the new passphrase'),
      ];
      await call(connection, 'vault.passphrase', { current: current ?? '', next: next ?? '' });
    });
    return exitCodes.ok;
  },
};
