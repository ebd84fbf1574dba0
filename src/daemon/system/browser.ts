/**
 * Opens the system browser, without a shell.
 *
 * Invariant: the URL is one argument of a program, never part of a command line; only https (http on
 * a loopback host) gets here, since the request that built it was checked.
 */
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { KeyturnError } from '../../base/errors.ts';
import { hasWslview } from '../../base/system/display.ts';
import { displayNames } from './display.ts';

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
  /** This process is a service of systemd's: the browser gets a unit of its own. */
  readonly isService?: boolean;
}

/** Whether systemd started this very process as a service, not a parent of it (systemd.exec(5), SYSTEMD_EXEC_PID). */
export const isService = (env: NodeJS.ProcessEnv): boolean => env['SYSTEMD_EXEC_PID'] === String(process.pid);

/**
 * Words before a browser that a service starts. As a child of the service the browser would have its limits, and end
 * with it. The description keeps the address out of the journal.
 */
const asUnit = ['systemd-run', '--user', '--quiet', '--collect', '--description=Browser for Keyturn'];

/** Milliseconds. A command that opens a page in a browser that runs already ends before. */
const failsWithin = 5000;

/** Resolves once the program has ended well, or has run for some seconds. Rejects where there is none, or it fails. */
export async function openBrowser(
  url: string,
  { command, env, platform = process.platform, isService: apart = false }: BrowserOptions,
): Promise<void> {
  const words = browserWords(command, platform, env);
  if (words.length === 0) throw noBrowser('no browser command is known');
  // systemd puts variables instead of `$NAME`, and `$` instead of `$$` (systemd.service(5)).
  const literal = (word: string): string => word.replaceAll('$', '$$$$');
  const [program = '', ...args] = apart
    ? [...asUnit, ...unitVariables(env), '--', ...[...words, url].map(literal)]
    : [...words, url];
  const child = spawn(program, args, { env, stdio: 'ignore', detached: true, shell: false });
  child.unref();
  await new Promise<void>((resolve, reject) => {
    const runs = setTimeout(resolve, failsWithin).unref();
    child.once('error', () => reject(noBrowser(`${program} could not be started`)));
    child.once('exit', (code) => {
      clearTimeout(runs);
      // A signal is somebody who closed it.
      if (code) reject(noBrowser(`${program} ended with exit code ${code}`));
      else resolve();
    });
  });
}

/** A unit has the variables of the user's manager, which may be of no desktop, or of an earlier one, and no CA file. */
const unitVariables = (env: NodeJS.ProcessEnv): string[] =>
  [...displayNames, 'NODE_EXTRA_CA_CERTS'].flatMap((name) =>
    env[name] ? [['--setenv', name, env[name]].join('=')] : [],
  );

/** The program that would be started; undefined if none is known. */
export function browserProgram(
  command: string | undefined,
  platform: NodeJS.Platform = process.platform,
  env: NodeJS.ProcessEnv = process.env,
): string | undefined {
  return browserWords(command, platform, env)[0];
}

function browserWords(
  command: string | undefined,
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): readonly string[] {
  if (command !== undefined) return wordsOf(command);
  return platform === 'linux' && hasWslview(env) ? ['wslview'] : (systemOpeners[platform] ?? []);
}

/** A command with spaces in its path is taken whole where such a file exists. */
function wordsOf(command: string): string[] {
  const isFile = statSync(command, { throwIfNoEntry: false })?.isFile() === true;
  return isFile ? [command] : command.trim().split(/\s+/);
}

function noBrowser(why: string): KeyturnError {
  return new KeyturnError('login_failed', `No browser was opened: ${why}.`, {
    hint: 'Set KEYTURN_BROWSER to a command that takes the URL, or open the printed URL yourself.',
  });
}
