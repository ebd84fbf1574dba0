/** A desktop that shows no tray icons: how the app learns it, says it once, and what it offers. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasHost, showsTray } from '../../electron/tray/missing-tray.ts';
import type { BusCall, BusValue } from '../../src/daemon/system/bus-questions.ts';
import { app, double } from '../support/electron/electron-double.ts';
import { newHome, until } from '../support/home.ts';
import { screenSession } from '../support/processes/screen-saver.ts';
import { ask, onlyPage, openApp, startInDouble, valueOf } from './rig.ts';

describe('a tray', () => {
  it.each([
    ['nobody keeps the list of icons', false, undefined, false],
    ['nobody draws them', true, false, false],
    ['somebody draws them', true, true, true],
  ])('is there or not: %s', async (_what, isWatched, isHosted, expected) => {
    const answer = async ({ member, texts = [] }: BusCall): Promise<BusValue> => {
      expect(texts).toContain('org.kde.StatusNotifierWatcher');
      return member === 'NameHasOwner' ? isWatched : isHosted;
    };
    expect(await hasHost(answer)).toBe(expected);
  });

  it('is missing on a real bus without one, and counts as there wherever nobody can be asked', async () => {
    const { env } = await screenSession();
    expect(await showsTray(env, 'linux')).toBe(false);
    expect(await showsTray(env, 'darwin')).toBe(true);
    expect(await showsTray({}, 'linux')).toBe(true);
    expect(await showsTray({ DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere/bus' }, 'linux')).toBe(true);
  });
});

describe('without a tray', () => {
  it('the app says once that it goes on, and offers a window at login', async () => {
    const { env } = await screenSession();
    const home = newHome({ env: { ...env, XDG_CONFIG_HOME: undefined } });
    const page = await onlyPage(await openApp(home));
    double.pressed = 1;
    app.emit('window-all-closed');
    app.emit('window-all-closed');
    await until('the choice is kept', async () => {
      const { windowAtLogin, openAtLogin } = valueOf(await ask(page, 'preferences.get', {}));
      return windowAtLogin && openAtLogin;
    });
    expect(existsSync(path.join(home.env['HOME'] ?? '', '.config', 'autostart', 'keyturn.desktop'))).toBe(
      true,
    );
    app.emit('window-all-closed');
    await showsTray(env, 'linux');
    expect(double.messages).toEqual(['Keyturn keeps running without a window']);
    // The tests of a home look for files that it leaves elsewhere.
    await ask(page, 'preferences.set', { openAtLogin: false });
  });

  it('the app opens its window at login, if the person chose that', async () => {
    const home = newHome();
    mkdirSync(home.paths.config, { recursive: true, mode: 0o700 });
    const choices = { choices: { windowAtLogin: true } };
    const file = path.join(home.paths.config, 'preferences.json');
    writeFileSync(file, JSON.stringify(choices), { mode: 0o600 });
    await startInDouble(home, ['--hidden']);
    await until('the window', () => double.windows[0]?.isVisible());
  });
});
