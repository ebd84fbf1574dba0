/** What a host gives the daemon: where the home is, and what the host does in its own way. */
import type { ShieldGap } from '../base/shield.ts';
import type { HomePaths } from '../base/paths.ts';
import type { SpawnChild } from '../base/system/child.ts';
import type { ProxyFor } from './system/fetch.ts';
import type { Log } from './system/log.ts';

export interface DaemonOptions {
  readonly paths: HomePaths;
  readonly env: NodeJS.ProcessEnv;
  /** Started by the CLI rather than by the user: recorded settings win over the environment. */
  readonly autoStarted: boolean;
  /** Opens a URL for the user; gets the settings' browser command, and the browser's environment. */
  readonly openBrowser: (url: string, command: string | undefined, env: NodeJS.ProcessEnv) => Promise<void>;
  /** Starts the keychain's process, with this environment; with Node unless given. */
  readonly spawnWorker?: SpawnChild;
  /** Starts the process of the proxies, with this environment; with Node unless given. */
  readonly spawnProxy?: SpawnChild;
  /** True for the Keyturn app: a command that widens access waits for the user's approval in its window. */
  readonly keyturnApp?: true;
  /** The system's proxy for a URL, if the settings name none. */
  readonly proxyFor?: ProxyFor;
  /** The process is the broker's alone, so that all of its memory may be collected while the broker is idle. */
  readonly ownsProcess?: true;
  /** Removes the files of a home that was reset, but for `kept`: in a container the command ends with the broker. */
  readonly removeFiles?: (kept: readonly string[], unlock: () => void) => void;
  readonly log: Log;
  /** Shields the host's process before a secret is read; answers what could not be done (shield.ts). */
  readonly shield: () => Promise<readonly ShieldGap[]>;
}
