/**
 * `keyturn export FILE`: the sign-ins and settings of this machine, sealed for another one.
 *
 * Invariants: the passphrase comes from the terminal or standard input. No file is overwritten. The file is on the disk
 * before the command says that it is done; where it can't be written, the command says how to take the sign-ins back.
 */
import { open, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { exitCodes, KeyturnError, quoted } from '../../base/errors.ts';
import { syncFolder } from '../../base/private-file.ts';
import { systemCode } from '../../base/system-error.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { connect, interruptible } from '../broker/connection.ts';
import { ask, call } from '../broker/request.ts';
import { UsageError } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';
import { movedLines } from '../words/account-note.ts';
import { print, say } from '../terminal/output.ts';
import { choosePassphrase, linesFromStdin } from '../terminal/passphrase-prompt.ts';

export const command = defineCommand(
  {
    name: 'export',
    summary: 'move your sign-ins and settings to another machine',
    operands: [{ name: 'FILE', optional: true }],
    usage: ['export FILE [--passphrase-stdin]', 'export --cancel'],
    options: {
      'passphrase-stdin': { type: 'boolean', summary: 'read the passphrase from standard input' },
      cancel: { type: 'boolean', summary: 'take back what was exported and not imported anywhere' },
    },
    about:
      'Seal your sign-ins and settings in FILE by a passphrase that you choose, for `keyturn import` on another machine. The sign-ins move: from now on this machine neither refreshes them nor gives out their tokens, because a server ends all tokens of a sign-in that two machines refresh.',
    notes: [
      'FILE must not exist yet, and is readable by you only. Permissions, paired programs, API keys, waived rules and settings of this machine (vault, browser, proxy, files) are not in it. A sign-in without a refresh token stays, and so does one that belongs to one program.',
      'Your tokens stay in the vault here until you revoke a moved sign-in (`keyturn revoke`), which asks no issuer. Until the import, `--cancel` takes the export back; delete FILE then. After the import it would end the sign-ins on both machines.',
    ],
    examples: ['keyturn export ~/keyturn.sealed', 'keyturn export --cancel'],
  },
  async ({ options, operands: [file] }) => {
    if (options.cancel) {
      if (file !== undefined || options['passphrase-stdin'])
        throw new UsageError('--cancel takes no FILE and no passphrase');
      await cancel();
      return exitCodes.ok;
    }
    if (file === undefined) throw new UsageError('keyturn export needs FILE, or --cancel');
    await exportTo(path.resolve(file), options['passphrase-stdin'] === true);
    return exitCodes.ok;
  },
);

async function cancel(): Promise<void> {
  const { grants } = await ask('grant.takeBack', {});
  if (grants.length === 0) return say('keyturn: nothing is exported.');
  for (const line of movedLines(grants)) print(line);
  say('keyturn: this machine uses them again. Delete the exported file: nobody may import it now.');
}

async function exportTo(file: string, isFromStdin: boolean): Promise<void> {
  const given = isFromStdin ? (await linesFromStdin(1))[0] : undefined;
  const handle = await newFile(file);
  let exported: ResultOf<'grant.export'> | undefined;
  try {
    const passphrase = given ?? (await choosePassphrase('choose a passphrase for the export'));
    const connection = await connect();
    exported = await interruptible(connection, () => call(connection, 'grant.export', { passphrase }));
    await handle.writeFile(exported.sealed);
    await handle.sync();
    await syncFolder(path.dirname(file));
  } catch (error) {
    await rm(file, { force: true });
    throw exported ? notWritten(file, error) : error;
  } finally {
    await handle.close();
  }
  for (const line of movedLines(exported.grants)) print(line);
  say(`keyturn: moved to ${quoted(file)}. On the other machine: keyturn import FILE`);
  if (exported.staying.length === 0) return;
  say(
    'keyturn: these stay here, because they have no refresh token, need a sign-in, or belong to one program:',
  );
  for (const line of movedLines(exported.staying)) say(`  ${line}`);
}

async function newFile(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', 0o600);
  } catch (error) {
    const code = systemCode(error);
    throw new KeyturnError('invalid_request', `${quoted(file)} can't be made: ${code}.`, {
      rule: 'An export overwrites no file',
      hint: 'Nothing was exported. Name a file that does not exist yet, in a folder that you may write to.',
    });
  }
}

function notWritten(file: string, error: unknown): KeyturnError {
  return new KeyturnError('file_unreadable', `${quoted(file)} could not be written: ${systemCode(error)}.`, {
    rule: 'The sign-ins are marked as moved before the file is written, so that no two machines refresh them',
    hint: 'Nothing is lost. Take them back, then export to another place: keyturn export --cancel',
  });
}
