/**
 * Opens the system browser, without a shell.
 *
 * Invariant: the URL is one argument of a program, never part of a command line; only https (http on
 * a loopback host) gets here, since the request that built it was checked.
 */
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { KeyturnError } from '../../base/errors.ts';

/** What opens a URL on each system, as the system's own manual names it. */
const systemOpeners: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  linux: ['xdg-open'],
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

export interface BrowserOptions {
  /** The user's own command, e.g. `firefox --private-window`. Split at spaces; no quoting. */
  readonly command?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly platform?: NodeJS.Platform;
}

/** Resolves once the program has started. Rejects where there is none. */
export async function openBrowser(
  url: string,
  { command, env, platform = process.platform }: BrowserOptions,
): Promise<void> {
  const [program, ...args] = browserWords(command, platform);
  if (program === undefined) throw noBrowser('no browser command is known');
  const child = spawn(program, [...args, url], { env, stdio: 'ignore', detached: true, shell: false });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', () => reject(noBrowser(`${program} could not be started`)));
  });
  child.unref();
}

/** The program that would be started; undefined where none is known. */
export function browserProgram(
  command: string | undefined,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  return browserWords(command, platform)[0];
}

function browserWords(command: string | undefined, platform: NodeJS.Platform): readonly string[] {
  return command === undefined ? (systemOpeners[platform] ?? []) : words(command);
}

/** A command with spaces in its path is taken whole where such a file exists. */
function words(command: string): string[] {
  const isFile = statSync(command, { throwIfNoEntry: false })?.isFile() === true;
  return isFile ? [command] : command.trim().split(/\s+/);
}

function noBrowser(why: string): KeyturnError {
  return new KeyturnError('login_failed', `No browser was opened: ${why}.`, {
    hint: 'Set KEYTURN_BROWSER to a command that takes the URL, or open the printed URL yourself.',
  });
}
