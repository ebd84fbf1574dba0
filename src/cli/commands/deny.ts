/** `keyturn deny CLIENT RESOURCE`: refuses, and is remembered. */
import { exitCodes, shellWord } from '../../base/errors.ts';
import { resourceFrom } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { sayKeyLives, sayNothingRevoked } from '../words/permission-end.ts';

export const command = defineCommand(
  {
    name: 'deny',
    summary: 'refuse a program, and remember it',
    operands: [{ name: 'CLIENT' }, { name: 'RESOURCE' }],
    options: { key: { type: 'boolean', summary: 'the API key there, and no token' } },
    about:
      'Refuse a program tokens for a protected server. Remembered until you allow it. Nothing is revoked at the server: tokens that the program already has live on until they expire; `keyturn revoke` ends those.',
    examples: ['keyturn deny my-editor https://notes.example/mcp'],
  },
  async ({ options, operands: [client, resource] }) => {
    if (options.key) {
      await ask('key.permission.set', { client, resource: resourceFrom(resource), decision: 'deny' });
      sayKeyLives();
      return exitCodes.ok;
    }
    await ask('permission.set', { client, resource: resourceFrom(resource), decision: 'deny' });
    sayNothingRevoked(`keyturn revoke ${shellWord(resource)}`);
    return exitCodes.ok;
  },
);
