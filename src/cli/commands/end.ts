/**
 * `keyturn end CLIENT RESOURCE`: ends a permission. It sends the server nothing, and says so. With `--folder`: what a project
 * file chooses is confirmed anew.
 */
import { realpathSync } from 'node:fs';
import path from 'node:path';
import { exitCodes, quoted, shellWord } from '../../base/errors.ts';
import { resourceFrom, UsageError } from '../terminal/arguments.ts';
import { ask } from '../broker/request.ts';
import { defineCommand } from '../terminal/command.ts';
import { sayKeyLives, sayNothingRevoked } from '../words/permission-end.ts';

export const command = defineCommand(
  {
    name: 'end',
    summary: 'end a permission or a denial; revokes nothing',
    operands: [{ name: 'CLIENT|FOLDER' }, { name: 'RESOURCE' }],
    options: {
      key: { type: 'boolean', summary: 'the permission for the API key there' },
      folder: {
        type: 'boolean',
        summary: 'a FOLDER in place of a CLIENT',
        more: ': its project file chooses no account there until you confirm it again',
      },
    },
    usage: ['end CLIENT RESOURCE [--key]', 'end FOLDER RESOURCE --folder'],
    about:
      "End a program's permission for a protected server; a denial ends too. The program may ask again, and then you are asked. Nothing is revoked at the server.",
    examples: [
      'keyturn end my-editor https://notes.example/mcp',
      'keyturn end /home/anna/notes https://notes.example/mcp --folder',
    ],
  },
  async ({ options, operands: [client, resource] }) => {
    if (options.key && options.folder) throw new UsageError('--key and --folder each stand alone');
    if (options.folder) {
      await ask('folder.end', { folder: recordedFolder(client), resource: resourceFrom(resource) });
      return exitCodes.ok;
    }
    if (looksLikeFolder(client))
      throw new UsageError(
        `${quoted(client)} looks like a folder, not like a program: for a folder add --folder`,
      );
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

/** No program that anybody names is called like a path from the working folder, the home folder or the root. */
const looksLikeFolder = (text: string): boolean => /^(\/|~|\.{1,2}(\/|$))/.test(text);

/**
 * As the broker recorded it: a canonical path, or `LABEL:/PATH` of another machine. A path from the root counts as it
 * is, whatever lies there by now. A path from the working folder is completed.
 */
function recordedFolder(text: string): string {
  if (/^[^/]*:\//.test(text) || path.isAbsolute(text)) return text;
  const full = path.resolve(text);
  try {
    return realpathSync(full);
  } catch {
    return full;
  }
}
