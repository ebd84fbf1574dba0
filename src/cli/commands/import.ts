/**
 * `keyturn import FILE`: the sign-ins and settings that another machine exported.
 *
 * Invariant: the passphrase comes from the terminal or standard input. The file stays as it is.
 */
import { readFile, stat } from 'node:fs/promises';
import { exitCodes, KeyturnError, quoted } from '../../base/errors.ts';
import { systemCode } from '../../base/system-error.ts';
import { maxLength } from '../../ipc/wire/limits.ts';
import { connect, interruptible } from '../broker/connection.ts';
import { call } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { movedLines } from '../words/account-note.ts';
import { print, say } from '../terminal/output.ts';
import { askPassphrase, linesFromStdin } from '../terminal/passphrase-prompt.ts';

export const command = defineCommand(
  {
    name: 'import',
    summary: 'take over what another machine exported',
    operands: [{ name: 'FILE' }],
    options: {
      'passphrase-stdin': { type: 'boolean', summary: 'read the passphrase from standard input' },
    },
    about:
      'Open FILE, which `keyturn export` wrote on another machine, and use its sign-ins here. No program may use them yet: allow each one as after any sign-in.',
    notes: [
      'Refused as a whole where a sign-in of the same account works here already. Running it again after a crash goes on, and leaves alone what came before. Delete FILE afterwards, and forget the sign-ins on the other machine with `keyturn revoke`.',
    ],
    examples: ['keyturn import ~/keyturn.sealed'],
  },
  async ({ options, operands: [file] }) => {
    const given = options['passphrase-stdin'] ? (await linesFromStdin(1))[0] : undefined;
    const sealed = await contentOf(file);
    const passphrase = given ?? (await askPassphrase('passphrase of the export'));
    const connection = await connect();
    const imported = await interruptible(connection, () =>
      call(connection, 'grant.import', { passphrase, sealed }),
    );
    const { grants, alreadyHere, settings } = imported;
    for (const line of movedLines(grants)) print(line);
    if (alreadyHere > 0) say(`keyturn: ${alreadyHere} came with this export before, and stay as they are.`);
    if (settings.length > 0) say(`keyturn: settings that were changed: ${settings.join(', ')}.`);
    say(`keyturn: imported. Delete ${quoted(file)} now.`);
    return exitCodes.ok;
  },
);

async function contentOf(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > 0 && size <= maxLength.export) return await readFile(file, 'latin1');
  } catch (error) {
    throw new KeyturnError('file_unreadable', `${quoted(file)} can't be read: ${systemCode(error)}.`, {
      hint: 'Name the file that `keyturn export` wrote.',
    });
  }
  throw new KeyturnError('file_unreadable', `${quoted(file)} is no export: it is empty or too long.`, {
    hint: 'Name the file that `keyturn export` wrote, whole.',
  });
}
