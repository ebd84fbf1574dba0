/** `keyturn unlock`: opens the vault, by its passphrase or by the keychain's own question. */
import type { Connection } from '../../client/connection.ts';
import type { ResultOf } from '../../ipc/protocol/methods.ts';
import { call } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { connect, interruptible } from '../broker/connection.ts';
import { desktopSession } from '../broker/desktop-session.ts';
import { say } from '../terminal/output.ts';
import { askUnseen, choosePassphrase, linesFromStdin } from '../terminal/passphrase-prompt.ts';

type Status = ResultOf<'status'>;

export const command = defineCommand(
  {
    name: 'unlock',
    summary: 'Unlock the vault',
    options: {
      'passphrase-stdin': { type: 'boolean', summary: 'read the passphrase from standard input' },
    },
    about:
      'Unlock the vault. A passphrase is asked for here, the first time twice, because you choose it then. A keychain asks in its own window, and you have two minutes.',
    examples: ['keyturn unlock', 'pass show keyturn | keyturn unlock --passphrase-stdin'],
  },
  async ({ options }) => {
    const given = options['passphrase-stdin'] ? (await linesFromStdin(1))[0] : undefined;
    const connection = await connect();
    await interruptible(connection, () => open(connection, given));
  },
);

async function open(connection: Connection, given: string | undefined): Promise<void> {
  const { vault, vaultOpenedBy, vaultSource, vaultState } = await call(connection, 'status', {});
  // Not said of a keychain: it may have been locked since it was last asked.
  if (given === undefined && vaultOpenedBy === 'passphrase' && vaultState.state === 'open') {
    return say('keyturn: the vault is open already.');
  }
  const isRefused = vaultSource !== undefined && vaultState.state === 'new';
  // The broker says why: a passphrase comes from elsewhere, so nobody is asked to choose one.
  const passphrase =
    given ?? (isRefused ? undefined : await passphraseFor(vault, vaultOpenedBy, vaultState.state));
  const isChosen = vaultOpenedBy === 'passphrase' && vaultState.state === 'new';
  const session = desktopSession(process.env);
  await call(connection, 'vault.unlock', { passphrase, session });
  if (isChosen) say(chosen);
}

/** Shown for standard input too: a line there may be mistyped, and is read only once. */
const chosen =
  'keyturn: the vault is new, and opens by this passphrase from now on. Nobody can recover it: try it now (keyturn lock, keyturn unlock), while the vault is empty.';

/** Undefined for a vault without a passphrase. */
async function passphraseFor(
  vault: string,
  key: Status['vaultOpenedBy'],
  state: string,
): Promise<string | undefined> {
  if (key === 'passphrase' && state === 'new') return choosePassphrase('choose a passphrase for the vault');
  if (key === 'passphrase') return askUnseen('passphrase of the vault');
  if (vault !== 'memory') say('keyturn: if your keychain asks for a password, answer there.');
  return undefined;
}
