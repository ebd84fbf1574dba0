/** `keyturn connect URL`: gives the entry of a client its access at this terminal, before the client starts it. */
import { locate } from '../../client/connect.ts';
import { endpointUrl } from '../../client/endpoint-url.ts';
import { appKeyFile } from '../../client/app-key-file.ts';
import { nameOfServer } from '../apps/entry-name.ts';
import { accountFrom, scopeFrom } from '../terminal/arguments.ts';
import { defineCommand } from '../terminal/command.ts';
import { accountOption, jsonOption, scopeOption } from '../terminal/statement.ts';

export const command = defineCommand(
  {
    name: 'connect',
    summary: 'Set up an MCP client for a server, and print its configuration',
    operands: [{ name: 'URL' }],
    options: {
      as: {
        type: 'string',
        value: 'NAME',
        summary: 'the name of this client in `keyturn app`',
        more: ' (default: made of the URL)',
      },
      scope: scopeOption('allow only this scope (default: all that you grant)'),
      account: accountOption('which account, if you have several', '; it is in the printed entry too'),
      json: jsonOption('the entry'),
    },
    about:
      'Set up an MCP client for one MCP server: give the client an app key (pairing), allow it to use the server, and sign in. Then print the entry for the client’s configuration. `keyturn setup` does all this for the clients that it finds.',
    notes: [
      'The entry runs `keyturn bridge`. With neither a terminal nor the Keyturn app, the command leaves its requests to `keyturn request`, and waits for 20 seconds.',
      'The exit codes are those of `keyturn token`.',
    ],
    examples: [
      'keyturn connect https://notes.example/mcp',
      'keyturn connect https://notes.example/mcp --as my-editor --json',
    ],
  },
  async ({ operands: [url], options }) => {
    const endpoint = endpointUrl(url);
    const resource = endpoint.href;
    // The name of an unnamed start has the client's program in it, and this terminal is another one.
    const name = options.as ?? nameOfServer(endpoint);
    // Throws for a name that can't be paired.
    appKeyFile(locate().paths, name);
    const account = accountFrom(options.account);
    const { connectEntry } = await import('../apps/entry-connect.ts');
    await connectEntry({ name, resource, ...account, ...scopeFrom(options.scope) });
    const { tellEntry } = await import('../apps/configured-entry.ts');
    await tellEntry({ name, resource, ...account }, options.json ?? false);
  },
);
