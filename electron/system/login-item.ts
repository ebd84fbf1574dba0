/**
 * Start at login, in each system's own way.
 *
 * Invariant: the system's record is the only one; it is read, never remembered. On Linux it is one file
 * of ours in the autostart folder (XDG Autostart), replaced whole or removed.
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '../../src/base/private-file.ts';
import { hiddenSwitch } from '../base/switches.ts';
import { commandOf } from './own-command.ts';
import type { CommandOptions } from './own-command.ts';

export interface LoginItem {
  isOn(): Promise<boolean>;
  set(isOn: boolean): Promise<void>;
}

/** The part of Electron's `app` that keeps the login item of macOS and Windows. */
interface SystemLoginItem {
  getLoginItemSettings(options: { args: string[] }): { readonly openAtLogin: boolean };
  setLoginItemSettings(settings: { openAtLogin: boolean; args: string[] }): void;
}

export interface LoginItemOptions extends CommandOptions {
  readonly platform?: NodeJS.Platform;
}

/** A desktop's own list of autostarts may leave the file there and mark it: by the specification, or in GNOME's way. */
const switchedOff = /^(?:Hidden=true|X-GNOME-Autostart-enabled=false)\s*$/m;

export function loginItem(app: SystemLoginItem, options: LoginItemOptions): LoginItem {
  const { env, platform = process.platform } = options;
  if (platform === 'linux') return autostartFile(env, commandOf(options));
  const args = [hiddenSwitch];
  return {
    isOn: () => Promise.resolve(app.getLoginItemSettings({ args }).openAtLogin),
    set: (openAtLogin) => Promise.resolve(app.setLoginItemSettings({ openAtLogin, args })),
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
  };
}

function desktopEntry(command: readonly string[]): string {
  return [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Keyturn',
    'Comment=The token broker on your desk',
    `Exec=${command.map(execWord).join(' ')} ${hiddenSwitch}`,
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
