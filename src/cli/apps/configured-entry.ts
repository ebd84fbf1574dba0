/**
 * What a client's configuration has to say so that the client starts an entry.
 *
 * Invariant: what is printed starts this very Keyturn, in this home, by a client with this terminal's PATH, also where
 * that has no `keyturn`. It holds no secret.
 */
import { homedir } from 'node:os';
import path from 'node:path';
import { quoted } from '../../base/errors.ts';
import { printJson, say } from '../terminal/output.ts';
import { isSingle } from '../../base/system/single.ts';
import { isLasting, neededVariables, type OwnCommand, realOf, stablePath } from '../../setup/own-command.ts';
import type { StandingEntry } from '../../setup/survey.ts';
import type { Entry } from './entry.ts';

interface ConfiguredCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

function configuredEntry({ name, resource, account }: Entry, env = process.env): ConfiguredCommand {
  const [command, ...before] = ownCommand(env);
  const needed = neededVariables(env);
  return {
    command,
    args: [
      ...before,
      'bridge',
      resource,
      '--as',
      name,
      // One argument: a name may begin with a dash.
      ...(account === undefined ? [] : [['--account', account].join('=')]),
    ],
    ...(Object.keys(needed).length > 0 ? { env: needed } : {}),
  };
}

/** As `configuredEntry`, by absolute paths: a program with a window may have another PATH than this terminal. */
export function absoluteCommand(env = process.env): OwnCommand {
  return { words: startOf(ownFile()), env: neededVariables(env) };
}

/** Whose files, and which folder's; that may have been removed under this terminal. */
export function clientsHere(): {
  readonly home: string;
  readonly project?: string;
  readonly own: OwnCommand;
} {
  const place = { home: process.env['HOME'] || homedir(), own: absoluteCommand() };
  try {
    return { ...place, project: process.cwd() };
  } catch {
    return place;
  }
}

/** For a script with `isForScript`; else for a user, who copies it. */
export async function tellEntry(entry: Entry, isForScript: boolean): Promise<void> {
  const configured = configuredEntry(entry);
  if (isForScript) return printJson({ name: entry.name, ...configured });
  const standing = await standingIn(entry);
  if (standing.length > 0)
    return say(
      `keyturn: the entry ${quoted(entry.name)} stands in ${standing.join(', ')} already. Restart that client.`,
    );
  say(
    'keyturn: write this into the configuration of your client (docs/guides/connect-clients.md has other forms):',
  );
  printJson({ mcpServers: { [entry.name]: configured } });
}

/** The user's own entries that start Keyturn: they would begin a new home at their client's next start. */
export async function standingHere(): Promise<readonly StandingEntry[]> {
  const { standingEntries } = await import('../../setup/survey.ts');
  // A project's are its owner's matter.
  return standingEntries({ ...clientsHere(), project: undefined });
}

/** Loaded only here: a script, and a client, need no reader of configurations. */
async function standingIn({ name, resource }: Entry): Promise<readonly string[]> {
  const { standingEntries } = await import('../../setup/survey.ts');
  return (await standingEntries(clientsHere()))
    .filter(({ as, endpoint, other }) => as === name && endpoint === resource && other === undefined)
    .map(({ file }) => file);
}

/** `keyturn` where that is found as this program; else Node and the file that runs. */
function ownCommand({ PATH = '' }: NodeJS.ProcessEnv): [string, ...string[]] {
  const own = ownFile();
  const isFound = PATH.split(path.delimiter)
    .filter(isLasting)
    .some((folder) => realOf(path.join(folder, 'keyturn')) === own);
  return isFound ? ['keyturn'] : startOf(own);
}

/** The file that runs, or that ran if it is gone: of JavaScript, or an executable of its own. */
function ownFile(): string {
  const file = isSingle ? process.execPath : (process.argv[1] ?? '');
  return realOf(file) ?? file;
}

function startOf(own: string): [string, ...string[]] {
  const file = stablePath(own, 'keyturn');
  return isSingle ? [file] : [stablePath(process.execPath, path.basename(process.execPath)), file];
}
