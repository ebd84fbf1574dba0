/**
 * Updates of the app itself, by electron-updater: only in a build that was made to be published, only if the person
 * turned them on, and only where a signature says who made the update.
 *
 * Invariant: otherwise nothing is asked of any network, and the updater isn't even loaded. Where the setting can't be
 * read, updates are off.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Session } from 'electron';
import type { AppUpdater } from 'electron-updater';
import type { InProcessOwner } from '../../src/daemon/in-process-owner.ts';
import { methods } from '../../src/ipc/protocol/methods.ts';
import type { After } from '../../src/ipc/wire/timer.ts';

/**
 * `none`: this build knows no place for updates. `unsigned`: it does, but nothing would prove who made them. `ready`:
 * one is installed when the app ends.
 */
export type UpdateState = 'none' | 'unsigned' | 'possible' | 'ready';

/** As much of electron-updater as is used. */
export type Updater = Pick<
  AppUpdater,
  'autoDownload' | 'autoInstallOnAppQuit' | 'allowDowngrade' | 'disableWebInstaller' | 'logger'
> & {
  readonly netSession: Pick<Session, 'setProxy'>;
  checkForUpdates(): Promise<unknown>;
  on(event: 'update-downloaded' | 'error', listener: () => void): unknown;
};

export interface UpdateParts {
  /** The folder of the app's resources; undefined where nothing is packed. */
  readonly resources: string | undefined;
  readonly platform: NodeJS.Platform;
  readonly owner: Pick<InProcessOwner, 'call'>;
  readonly load: () => Promise<Updater>;
  /** `state` is another than before. */
  readonly changed: () => void;
  readonly log: (line: string) => void;
  readonly after: After;
  /** Milliseconds. */
  readonly now: () => number;
}

/** Milliseconds between two looks at the setting. */
const lookEvery = 60 * 60_000;

/** Milliseconds between two questions to the place of updates. */
const checkEvery = 24 * 60 * 60_000;

export class Updates {
  readonly #parts: UpdateParts;
  #state: UpdateState;
  #updater: Updater | undefined;
  #checkedAt = -Infinity;

  constructor(parts: UpdateParts) {
    this.#parts = parts;
    this.#state = stateOf(parts);
    if (this.#state === 'possible') void this.#look();
  }

  get state(): UpdateState {
    return this.#state;
  }

  async #look(): Promise<void> {
    const { log, after } = this.#parts;
    try {
      await this.#checkIfOn();
    } catch {
      log('desk: updates could not be looked for');
    }
    after(lookEvery, () => void this.#look());
  }

  async #checkIfOn(): Promise<void> {
    const { owner, now } = this.#parts;
    const { settings } = methods['settings.get'].result.parse(await owner.call('settings.get', {}));
    const isOn = settings['checkForUpdates'] === true;
    // One that was downloaded before it was turned off isn't installed.
    if (this.#updater) this.#updater.autoInstallOnAppQuit = isOn;
    if (!isOn || now() - this.#checkedAt < checkEvery) return;
    this.#checkedAt = now();
    const updater = (this.#updater ??= await this.#load());
    updater.autoInstallOnAppQuit = true;
    const { httpsProxy, noProxy } = settings;
    // Else Electron takes the system's.
    if (typeof httpsProxy === 'string') {
      const proxyBypassRules = typeof noProxy === 'string' ? noProxy : '';
      await updater.netSession.setProxy({ mode: 'fixed_servers', proxyRules: httpsProxy, proxyBypassRules });
    }
    await updater.checkForUpdates();
  }

  async #load(): Promise<Updater> {
    const updater = await this.#parts.load();
    updater.autoDownload = true;
    updater.allowDowngrade = false;
    // Its signature would be that of the loader only.
    updater.disableWebInstaller = true;
    updater.logger = null;
    // The promise of the check says it too.
    updater.on('error', () => undefined);
    updater.on('update-downloaded', () => {
      this.#state = 'ready';
      this.#parts.changed();
    });
    return updater;
  }
}

/** What electron-builder writes into a build that has a place for updates. */
function stateOf({ resources, platform }: UpdateParts): UpdateState {
  if (resources === undefined) return 'none';
  let config: string;
  try {
    config = readFileSync(path.join(resources, 'app-update.yml'), 'utf8');
  } catch {
    return 'none';
  }
  return isSigned(platform, config) ? 'possible' : 'unsigned';
}

/** Without `publisherName` electron-updater takes every installer. */
const publisher = /^publisherName:\s*(?:-\s*)?(?!null\b)["'\w]/m;

/**
 * macOS itself compares the update's signature with the running app's. Linux knows no such signature: the hash in
 * the list of updates comes from where the update comes from.
 */
function isSigned(platform: NodeJS.Platform, config: string): boolean {
  return platform === 'darwin' || (platform === 'win32' && publisher.test(config));
}

/** The updater for this system. Its package asks Electron for the app at once, so it is loaded late. */
export async function loadUpdater(): Promise<Updater> {
  const { default: updaters } = await import('electron-updater');
  return updaters.autoUpdater;
}
