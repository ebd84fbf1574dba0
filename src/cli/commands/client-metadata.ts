/** `keyturn client-metadata URL`: the client ID metadata document to host at URL. Needs no broker. */
import { exitCodes } from '../../base/errors.ts';
import { defineCommand } from '../terminal/command.ts';
import { print } from '../terminal/output.ts';

export const command = defineCommand(
  {
    name: 'client-metadata',
    summary: 'the client ID metadata document to host at a URL',
    operands: [{ name: 'URL' }],
    options: {},
    about:
      'Print the client ID metadata document to host at URL, an https URL with a path. Servers that take such documents then know Keyturn by this URL. Serve it as application/json, and create the home with KEYTURN_CLIENT_METADATA_URL=URL.',
    examples: ['keyturn client-metadata https://example.com/keyturn.json > keyturn.json'],
  },
  async ({ operands: [url] }) => {
    const { clientDocument } = await import('../../daemon/system/client-document.ts');
    for (const line of JSON.stringify(clientDocument(url), undefined, 2).split('\n')) print(line);
    return exitCodes.ok;
  },
);
