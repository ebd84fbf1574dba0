/** `keyturn unpair CLIENT`: forgets a program; its key opens nothing any more. */
import { exitCodes } from '../../base/errors.ts';
import { parse } from '../terminal/arguments.ts';
import { ask } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';
import { sayNothingRevoked } from '../terminal/permission-end.ts';

const help = `Usage: keyturn unpair CLIENT
Forget a program: its key, with the key file in this home, its permissions, and
its open connections. Afterwards it can be paired anew. Grants stay, and nothing
is revoked at any server; \`keyturn revoke\` does that.

  -h, --help  show this

Example:
  keyturn unpair my-editor
`;

export const command: Command = {
  help,
  async run(args) {
    const { positionals } = parse(args, {}, { names: ['CLIENT'], command: 'unpair' });
    const [client = ''] = positionals;
    await ask('client.remove', { client });
    sayNothingRevoked('keyturn revoke RESOURCE');
    return exitCodes.ok;
  },
};
