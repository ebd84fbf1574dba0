/** `keyturn passphrase`: puts the vault under another passphrase. */
import { placeOf } from '../../daemon/vault/key-source.ts';
import { call } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { connect, interruptible } from '../broker/connection.ts';
import { say } from '../terminal/output.ts';
import { askUnseen, choosePassphrase, linesFromStdin } from '../terminal/passphrase-prompt.ts';

export const command = defineCommand(
  {
    name: 'passphrase',
    summary: 'Change the passphrase of the vault, if it has one',
    options: {
      'passphrase-stdin': {
        type: 'boolean',
        summary: 'read two lines: the current passphrase, and the new one',
      },
    },
    about:
      'Change the passphrase of the vault, if it has one (settings: vault sealed-file, vaultKey not keychain). Unlock it first. An old copy of items/root still opens with the old passphrase: if that leaked, use a new home.',
    examples: ['keyturn passphrase'],
  },
  async ({ options }) => {
    const given = options['passphrase-stdin'] ? await linesFromStdin(2) : undefined;
    const connection = await connect();
    await interruptible(connection, async () => {
      const [current, next] = given ?? [
        await askUnseen('current passphrase'),
        await choosePassphrase('the new passphrase'),
      ];
      await call(connection, 'vault.passphrase', { current: current ?? '', next: next ?? '' });
      const { vaultSource } = await call(connection, 'status', {});
      if (vaultSource)
        say(
          `keyturn: the passphrase was changed. The next start of the broker needs it from ${placeOf(vaultSource)} (setting vaultKey): change it there too.`,
        );
    });
  },
);
