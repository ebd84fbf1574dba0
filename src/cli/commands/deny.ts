/** `keyturn deny CLIENT RESOURCE`: refuses, and is remembered. */
import { exitCodes, shellWord } from '../../base/errors.ts';
import { parse, resourceFrom } from '../terminal/arguments.ts';
import { ask } from '../broker/command.ts';
import type { Command } from '../broker/command.ts';
import { sayNothingRevoked } from '../terminal/permission-end.ts';

const help = `Usage: keyturn deny CLIENT RESOURCE
Refuse a program tokens for a protected server. Remembered until you allow it.
Nothing is revoked at the server: tokens that the program already has live on
until they expire; \`keyturn revoke\` ends those.

  -h, --help  show this

Example:
  keyturn deny my-editor https://notes.example/mcp
`;

export const command: Command = {
  help,
  async run(args) {
    const { positionals } = parse(args, {}, { names: ['CLIENT', 'RESOURCE'], command: 'deny' });
    const [client = '', resource = ''] = positionals;
    await ask('permission.set', { client, resource: resourceFrom(resource), decision: 'deny' });
    sayNothingRevoked(`keyturn revoke ${shellWord(resource)}`);
    return exitCodes.ok;
  },
};
