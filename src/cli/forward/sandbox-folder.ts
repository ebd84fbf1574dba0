/**
 * The folder in which the socket for a sandbox is made: it has to be there and private. The broker checks it again.
 *
 * Invariant: no hint proposes to change a folder that is there already, which others may need as it is.
 */
import path from 'node:path';
import { KeyturnError, quoted, reasonOf, shellWord } from '../../base/errors.ts';
import { checkPrivate, socketRule } from '../../base/private/private-check.ts';
import { freePath, lookAt } from '../../base/private/private-folder.ts';
import type { Environment } from '../../base/paths.ts';

/** Throws `not_found` where the folder isn't there, and `socket_unsafe` where others may enter it. */
export function requireSandboxFolder(socket: string, env: Environment): void {
  const folder = path.dirname(socket);
  let found: ReturnType<typeof lookAt>;
  try {
    found = lookAt(folder);
    if (found) checkPrivate(found, folder, 'socketFolder');
  } catch (error) {
    if (!(error instanceof KeyturnError)) throw error;
    throw new KeyturnError('socket_unsafe', folderProblem(folder, error), {
      rule: socketRule,
      hint: ownFolderHint(socket, env),
      cause: error,
    });
  }
  if (found) return;
  throw new KeyturnError('not_found', `The folder ${quoted(folder)} for the socket does not exist.`, {
    hint: `Make it: mkdir -m 700 -p ${shellWord(folder)}`,
  });
}

/** A path through a file can't be: that refusal speaks of a broker. */
function folderProblem(folder: string, error: KeyturnError): string {
  if (reasonOf(error) === 'socket_unsafe') return error.message;
  return `${quoted(folder)} can't be a folder: a part of its path is a file`;
}

/** A folder that isn't there yet, at a place of the user's. */
function ownFolderHint(socket: string, env: Environment): string {
  const name = path.basename(socket);
  const own = freePath(path.join(placeOf(env), path.basename(socket, '.sock')));
  return `Give the socket a folder of its own: mkdir -m 700 -p ${shellWord(own)}   Then use --socket ${shellWord(path.join(own, name))}`;
}

function placeOf({ XDG_RUNTIME_DIR: runtime, HOME: home }: Environment): string {
  if (runtime && path.isAbsolute(runtime)) return path.join(runtime, 'keyturn-forward');
  return path.join(home ?? path.sep, '.local', 'state', 'keyturn-forward');
}
