/** `keyturn end CLIENT RESOURCE`: ends a permission. The server is told nothing, and the person is told so. */
import { exitCodes, shellWord } from '../../base/errors.ts';
import { parse, resourceFrom } from '../terminal/arguments.ts';
import { ask } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';
import { sayNothingRevoked } from '../terminal/permission-end.ts';

const help = `Usage: keyturn end CLIENT RESOURCE
End a program's permission for a protected server; a denial ends too. The
program may ask again, and then you are asked. Nothing is revoked at the server.

  -h, --help  show this

Example:
  keyturn end my-editor https://notes.example/mcp
`;

export const command: Command = {
  help,
  async run(args) {
    const { positionals } = parse(args, {}, { names: ['CLIENT', 'RESOURCE'], command: 'end' });
    const [client = '', resource = ''] = positionals;
    await ask('permission.end', { client, resource: resourceFrom(resource) });
    sayNothingRevoked(`keyturn revoke ${shellWord(resource)}`);
    return exitCodes.ok;
  },
};
