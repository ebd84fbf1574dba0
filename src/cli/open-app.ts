/**
 * A command was refused because this home's app is closed: offers to open it.
 *
 * Invariant: only a user at a terminal of a desktop session is asked. The question shows which program would start,
 * since any program of the user can write the file that names it. The refusal stands, and nothing is run again.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { KeyturnError, shellWord } from '../base/errors.ts';
import { appCommandFile, homePaths } from '../base/paths.ts';
import { readPrivate } from '../base/private/private-file.ts';
import { appClosedRule } from '../daemon/home/app-closed.ts';
import { hasDisplay } from '../base/system/display.ts';
import { say } from './terminal/output.ts';
import { confirmed, isAtTerminal } from './terminal/standard-input.ts';

/** After the refusal was shown. */
export async function offerIfClosed(error: unknown, env: NodeJS.ProcessEnv): Promise<void> {
  const isClosed = error instanceof KeyturnError && error.rule === appClosedRule;
  if (!isClosed || !isAtTerminal() || !hasDisplay(env)) return;
  const [program, ...script] = (await ownCommand(env)) ?? [];
  if (program === undefined) return;
  const shown = [program, ...script].map((word) => shellWord(word)).join(' ');
  if (!(await confirmed(`Open the app of this home now, by ${shown}? `))) return;
  const child = spawn(program, script, { detached: true, stdio: 'ignore', env });
  try {
    await once(child, 'spawn');
  } catch {
    return say('keyturn: it could not be started. Start the app yourself.');
  }
  child.unref();
  say('keyturn: the app starts. Run the command again once its window is there.');
}

/** Undefined where the app never ran here, or where the file isn't what the app writes. */
async function ownCommand(env: NodeJS.ProcessEnv): Promise<readonly string[] | undefined> {
  try {
    const command: unknown = JSON.parse(String(await readPrivate(appCommandFile(homePaths(env)))));
    return isCommand(command) ? command : undefined;
  } catch {
    return undefined;
  }
}

/** A program, and the file that it runs where the app isn't packed. */
function isCommand(value: unknown): value is readonly string[] {
  return (
    Array.isArray(value) &&
    [1, 2].includes(value.length) &&
    value.every((word) => typeof word === 'string' && path.isAbsolute(word) && !/\p{Cc}/u.test(word))
  );
}
