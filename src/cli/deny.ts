/** `keyturn deny CLIENT RESOURCE`: refuses, and is remembered. */
import { exitCodes } from '../errors.ts';
import { parse, resourceFrom } from './arguments.ts';
import { ask } from './command.ts';
import type { Command } from './command.ts';

const help = `Usage: keyturn deny CLIENT RESOURCE
Refuse a program tokens for a protected server. Remembered until you allow it.
Tokens it already has live on until they expire; \`keyturn revoke\` ends those.

  -h, --help  show this
`;

export const command: Command = {
  help,
  async run(args) {
    const { positionals } = parse(args, {}, { names: ['CLIENT', 'RESOURCE'], command: 'deny' });
    const [client = '', resource = ''] = positionals;
    await ask('permission.set', { client, resource: resourceFrom(resource), decision: 'deny' });
    return exitCodes.ok;
  },
};
