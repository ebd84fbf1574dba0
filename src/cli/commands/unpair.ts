/** `keyturn unpair CLIENT`: forgets a program; its key opens nothing any more. */
import { exitCodes } from '../../base/errors.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { say } from '../terminal/output.ts';
import { sayNothingRevoked } from '../words/permission-end.ts';

export const command = defineCommand(
  {
    name: 'unpair',
    summary: 'forget a program, its key and its permissions',
    operands: [{ name: 'CLIENT' }],
    options: {},
    about:
      'Forget a program: its key, with the key file in this home, its permissions, and its open connections. Afterwards it can be paired again. Of "cli", which has no pairing, only the permissions end, all of them. Grants stay, and nothing is revoked at any server; `keyturn revoke` does that.',
    examples: ['keyturn unpair my-editor'],
  },
  async ({ operands: [client] }) => {
    await ask('client.remove', { client });
    if (client === 'cli' && process.stdout.isTTY)
      say(
        'keyturn: all permissions of cli have ended. It has no pairing: every keyturn command is still cli.',
      );
    sayNothingRevoked('keyturn revoke RESOURCE');
    return exitCodes.ok;
  },
);
