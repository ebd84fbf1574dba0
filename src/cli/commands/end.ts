/** `keyturn end CLIENT RESOURCE`: ends a permission. It sends the server nothing, and says so. */
import { exitCodes, shellWord } from '../../base/errors.ts';
import { resourceFrom } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { sayKeyLives, sayNothingRevoked } from '../words/permission-end.ts';

export const command = defineCommand(
  {
    name: 'end',
    summary: 'end a permission or a denial; revokes nothing',
    operands: [{ name: 'CLIENT' }, { name: 'RESOURCE' }],
    options: {
      key: { type: 'boolean', summary: 'the permission for the API key there' },
    },
    about:
      "End a program's permission for a protected server; a denial ends too. The program may ask again, and then you are asked. Nothing is revoked at the server.",
    examples: ['keyturn end my-editor https://notes.example/mcp'],
  },
  async ({ options, operands: [client, resource] }) => {
    if (options.key) {
      await ask('key.permission.end', { client, resource: resourceFrom(resource) });
      sayKeyLives();
      return exitCodes.ok;
    }
    await ask('permission.end', { client, resource: resourceFrom(resource) });
    sayNothingRevoked(`keyturn revoke ${shellWord(resource)}`);
    return exitCodes.ok;
  },
);
