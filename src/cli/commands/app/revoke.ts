/** `keyturn app revoke APP URL`: ends a permission. It sends the server nothing, and says so. */
import { exitCodes, shellWord } from '../../../base/errors.ts';
import { resourceFrom } from '../../terminal/arguments.ts';
import { ask } from '../../broker/request.ts';
import { defineCommand } from '../../terminal/command.ts';
import { sayApiKeyStays, sayNothingRevoked } from '../../words/permission-end.ts';

export const revokeApp = defineCommand(
  {
    name: 'app revoke',
    summary: "Revoke an app's permission or denial; it may ask again",
    operands: [{ name: 'APP' }, { name: 'URL' }],
    options: { 'api-key': { type: 'boolean', summary: 'the permission or denial for the API key there' } },
    about:
      "Revoke an app's permission for an MCP server, or its denial. The app may ask again. Nothing is revoked at the server.",
    examples: ['keyturn app revoke my-editor https://notes.example/mcp'],
  },
  async ({ options, operands: [app, resource] }) => {
    if (options['api-key']) {
      await ask('apiKey.permission.revoke', { app, resource: resourceFrom(resource) });
      sayApiKeyStays();
      return exitCodes.ok;
    }
    await ask('permission.revoke', { app, resource: resourceFrom(resource) });
    sayNothingRevoked(`keyturn logout ${shellWord(resource)}`);
    return exitCodes.ok;
  },
);
