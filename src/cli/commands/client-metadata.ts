/** `keyturn client-metadata URL`: the client ID metadata document to host at URL. Needs no broker. */
import { clientDocument } from '../../daemon/system/client-document.ts';
import { exitCodes } from '../../base/errors.ts';
import { parse } from '../terminal/arguments.ts';
import type { Command } from '../broker/command.ts';
import { print } from '../terminal/output.ts';

const help = `Usage: keyturn client-metadata URL
Print the client ID metadata document to host at URL, an https URL with a path.
Servers that take such documents then know Keyturn by this URL. Serve it as
application/json, and create the home with KEYTURN_CLIENT_METADATA_URL=URL.

  -h, --help  show this

Example:
  keyturn client-metadata https://example.com/keyturn.json > keyturn.json
`;

export const command: Command = {
  help,
  async run(args) {
    const { positionals } = parse(args, {}, { names: ['URL'], command: 'client-metadata' });
    const [url = ''] = positionals;
    for (const line of JSON.stringify(clientDocument(url), undefined, 2).split('\n')) print(line);
    return exitCodes.ok;
  },
};
