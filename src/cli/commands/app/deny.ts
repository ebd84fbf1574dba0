/** `keyturn app deny APP URL`: a denial that is remembered. */
import { exitCodes, shellWord } from '../../../base/errors.ts';
import { resourceFrom } from '../../terminal/arguments.ts';
import { ask } from '../../broker/request.ts';
import { defineCommand } from '../../terminal/command.ts';
import { sayApiKeyStays, sayNothingRevoked } from '../../words/permission-end.ts';

export const denyApp = defineCommand(
  {
    name: 'app deny',
    summary: 'Deny an app tokens for an MCP server, until you allow it',
    operands: [{ name: 'APP' }, { name: 'URL' }],
    options: { 'api-key': { type: 'boolean', summary: 'the API key there, and no token' } },
    about:
      'Deny an app access tokens for an MCP server, until you allow it. Tokens that it has stay valid until they expire; `keyturn logout` ends those.',
    examples: ['keyturn app deny my-editor https://notes.example/mcp'],
  },
  async ({ options, operands: [app, resource] }) => {
    if (options['api-key']) {
      await ask('apiKey.permission.set', { app, resource: resourceFrom(resource), decision: 'deny' });
      sayApiKeyStays();
      return exitCodes.ok;
    }
    await ask('permission.set', { app, resource: resourceFrom(resource), decision: 'deny' });
    sayNothingRevoked(`keyturn logout ${shellWord(resource)}`);
    return exitCodes.ok;
  },
);
