/**
 * Start at login, in each system's own way.
 *
 * Invariant: the system's record is the only one; it is read, never remembered. On Linux it is one file
 * of ours in the autostart folder (XDG Autostart); where the app moved, its command is written again.
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { KeyturnError } from '../../src/base/errors.ts';
import { replaceFile } from '../../src/base/private/private-file.ts';
import { hiddenSwitch } from '../base/switches.ts';
import { commandOf, type CommandOptions } from './own-command.ts';

export interface LoginItem {
  isOn(): Promise<boolean>;
  /** Throws `not_permitted` if the system needs the user's approval first, or can't start a clone. */
  set(isOn: boolean): Promise<void>;
  /** Where it is on and would start another program than this one, as after a move: starts this one from now on. */
  renew(): Promise<void>;
}

/** The part of Electron's `app` that keeps the login item of macOS and Windows. */
interface SystemLoginItem {
  getLoginItemSettings(options: { path: string; args: string[] }): {
    readonly openAtLogin: boolean;
    /** Windows: false where the user switched it off in the Task Manager. */
    readonly executableWillLaunchAtLogin?: boolean;
    /** macOS: `requires-approval` until the user allows it in the system's settings. */
    readonly status?: string;
  };
  setLoginItemSettings(settings: { openAtLogin: boolean; path: string; args: string[] }): void;
}

export interface LoginItemOptions extends CommandOptions {
  readonly platform?: NodeJS.Platform;
}

/** A desktop's own list of autostarts may leave the file there and mark it: by the specification, or in GNOME's way. */
const switchedOff = /^(?:Hidden=true|X-GNOME-Autostart-enabled=false)\s*$/m;

export function loginItem(app: SystemLoginItem, options: LoginItemOptions): LoginItem {
  const { env, platform = process.platform } = options;
  if (platform === 'linux') return autostartFile(env, commandOf(options));
  return systemsItem(app, commandOf(options), platform === 'darwin' && !options.isPackaged);
}

/** `isOnlyElectron`: macOS starts an app and no file that it would run. */
function systemsItem(
  app: SystemLoginItem,
  [file = '', ...words]: readonly string[],
  isOnlyElectron: boolean,
): LoginItem {
  // Windows keeps one line, and puts quotes around nothing.
  const args = words.map((word) => (word.includes(' ') ? `"${word}"` : word));
  const started = { path: file, args: [...args, hiddenSwitch] };
  return {
    async isOn() {
      const { openAtLogin, executableWillLaunchAtLogin = true } = app.getLoginItemSettings(started);
      return openAtLogin && executableWillLaunchAtLogin;
    },
    async set(openAtLogin) {
      if (openAtLogin && isOnlyElectron)
        throw new KeyturnError('not_permitted', 'macOS can’t start Keyturn from a clone at login.', {
          hint: 'Install the app first.',
        });
      app.setLoginItemSettings({ openAtLogin, ...started });
      if (!openAtLogin || app.getLoginItemSettings(started).status !== 'requires-approval') return;
      throw new KeyturnError('not_permitted', 'macOS does not start Keyturn at login before you allow it.', {
        hint: 'Switch Keyturn on in System Settings, General, Login Items.',
      });
    },
    // macOS follows the app. Windows counts an entry for another path as off.
    renew: () => Promise.resolve(),
  };
}

function autostartFile(env: LoginItemOptions['env'], command: readonly string[]): LoginItem {
  const config = env['XDG_CONFIG_HOME'] || path.join(env['HOME'] ?? '', '.config');
  const file = path.join(config, 'autostart', 'keyturn.desktop');
  return {
    async isOn() {
      try {
        return !switchedOff.test(await readFile(file, 'utf8'));
      } catch {
        return false;
      }
    },
    async set(isOn) {
      if (!isOn) return rm(file, { force: true });
      await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
      await replaceFile(file, desktopEntry(command));
    },
    async renew() {
      if (!(await this.isOn())) return;
      const text = await readFile(file, 'utf8');
      // The other lines may be the desktop's own.
      const renewed = text.replace(/^Exec=.*$/m, () => execLine(command));
      if (renewed !== text) await replaceFile(file, renewed);
    },
  };
}

const execLine = (command: readonly string[]): string =>
  `Exec=${command.map(execWord).join(' ')} ${hiddenSwitch}`;

function desktopEntry(command: readonly string[]): string {
  return [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Keyturn',
    'Comment=A token broker for MCP clients',
    execLine(command),
    'Icon=keyturn-desktop',
    'Terminal=false',
    'X-GNOME-Autostart-enabled=true',
    '',
  ].join('\n');
}

/** Desktop Entry Specification, "The Exec key": quoted, and each escape escaped again for the file. */
function execWord(word: string): string {
  const inQuotes = word.replace(/["`$\\]/g, (c) => `\\${c}`).replaceAll('%', '%%');
  return `"${inQuotes.replaceAll('\\', '\\\\')}"`;
}
