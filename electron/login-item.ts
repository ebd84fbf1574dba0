/**
 * Start at login, in each system's own way.
 *
 * Invariant: the system's record is the only one; it is read, never remembered. On Linux it is one file
 * of ours in the autostart folder (XDG Autostart), replaced whole or removed.
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '../src/private-file.ts';
import { hiddenSwitch } from './switches.ts';

export interface LoginItem {
  isOn(): Promise<boolean>;
  set(isOn: boolean): Promise<void>;
}

/** The part of Electron's `app` that keeps the login item of macOS and Windows. */
interface SystemLoginItem {
  getLoginItemSettings(options: { args: string[] }): { readonly openAtLogin: boolean };
  setLoginItemSettings(settings: { openAtLogin: boolean; args: string[] }): void;
}

export interface LoginItemPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly platform?: NodeJS.Platform;
  /** The program to start; an AppImage names itself in the environment, as its mount goes away. */
  readonly program?: string;
}

export function loginItem(app: SystemLoginItem, place: LoginItemPlace): LoginItem {
  const { env, platform = process.platform, program = env['APPIMAGE'] ?? process.execPath } = place;
  if (platform === 'linux') return autostartFile(env, program);
  const args = [hiddenSwitch];
  return {
    isOn: () => Promise.resolve(app.getLoginItemSettings({ args }).openAtLogin),
    set: (openAtLogin) => Promise.resolve(app.setLoginItemSettings({ openAtLogin, args })),
  };
}

function autostartFile(env: LoginItemPlace['env'], program: string): LoginItem {
  const config = env['XDG_CONFIG_HOME'] || path.join(env['HOME'] ?? '', '.config');
  const file = path.join(config, 'autostart', 'keyturn.desktop');
  return {
    async isOn() {
      try {
        return !/^Hidden=true$/m.test(await readFile(file, 'utf8'));
      } catch {
        return false;
      }
    },
    async set(isOn) {
      if (!isOn) return rm(file, { force: true });
      await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
      await replaceFile(file, desktopEntry(program));
    },
  };
}

function desktopEntry(program: string): string {
  return [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Keyturn',
    'Comment=The token broker on your desk',
    `Exec=${execWord(program)} ${hiddenSwitch}`,
    'Icon=keyturn',
    'Terminal=false',
    'X-GNOME-Autostart-enabled=true',
    '',
  ].join('\n');
}

/** Desktop Entry Specification, "The Exec key": quoted, and each escape escaped again for the file. */
function execWord(program: string): string {
  const inQuotes = program.replace(/["`$\\]/g, (c) => `\\${c}`).replaceAll('%', '%%');
  return `"${inQuotes.replaceAll('\\', '\\\\')}"`;
}
