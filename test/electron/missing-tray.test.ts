/** A desktop that shows no tray icons: how the app learns it, says it once, and what it offers. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasHost, showsTray, untilTrayIsShown } from '../../electron/tray/missing-tray.ts';
import type { BusCall, BusValue } from '../../src/daemon/system/bus-questions.ts';
import { app, double } from '../support/electron/electron-double.ts';
import { newHome, until } from '../support/home.ts';
import { screenSession } from '../support/processes/screen-saver.ts';
import { ask, startInDouble, valueOf } from './rig.ts';

it.each([
  ['nobody keeps the list of icons', false, undefined, false],
  ['nobody draws them', true, false, false],
  ['somebody draws them', true, true, true],
])('a tray is there or not: %s', async (_what, isWatched, isHosted, expected) => {
  const answer = async ({ member, texts = [] }: BusCall): Promise<BusValue> => {
    expect(texts).toContain('org.kde.StatusNotifierWatcher');
    return member === 'NameHasOwner' ? isWatched : isHosted;
  };
  expect(await hasHost(answer)).toBe(expected);
});

describe('the wait for a tray', () => {
  const waiting = async (seconds: number): Promise<[boolean, number]> => {
    let waited = 0;
    const after = (ms: number, run: () => void) => {
      waited += ms;
      run();
      return () => undefined;
    };
    return [await untilTrayIsShown(async () => waited >= seconds * 1000, after), waited];
  };

  it.each([
    [0, true, 0],
    [7, true, 7000],
    [60, true, 60_000],
    [61, false, 60_000],
  ])('ends at once where one comes after %d s, and after a minute in any case', async (comes, is, waited) => {
    expect(await waiting(comes)).toEqual([is, waited]);
  });

  it('makes no icon before one is there, and then shows a hidden start’s window', async () => {
    const { env } = await screenSession();
    const steps: (() => void)[] = [];
    const after = (_ms: number, run: () => void) => {
      steps.push(run);
      return () => undefined;
    };
    await startInDouble(
      newHome({ env: { ...env, XDG_CONFIG_HOME: undefined } }),
      ['--hidden'],
      {},
      { after, showsTray: () => showsTray(env) },
    );
    for (let second = 0; second < 60; second += 1) {
      expect([double.tray, double.windows.length]).toEqual([undefined, 0]);
      (await until('the next second', () => steps.shift()))();
    }
    await until('the window', () => double.windows[0]?.isVisible());
    expect(double.tray).toBeDefined();
  });
});

it('without a tray the app says once that it goes on, and offers a window at login', async () => {
  const { env } = await screenSession();
  const home = newHome({ env: { ...env, XDG_CONFIG_HOME: undefined } });
  await startInDouble(home, [], {}, { showsTray: () => showsTray(env) });
  const page = await until('its page', () => double.windows[0]?.webContents.page);
  double.pressed = 1;
  app.emit('window-all-closed');
  app.emit('window-all-closed');
  await until('the choice is kept', async () => {
    const { windowAtLogin, openAtLogin } = valueOf(await ask(page, 'preferences.get', {}));
    return windowAtLogin && openAtLogin;
  });
  expect(existsSync(path.join(home.env['HOME'] ?? '', '.config', 'autostart', 'keyturn.desktop'))).toBe(true);
  app.emit('window-all-closed');
  await showsTray(env, 'linux');
  expect(double.messages).toEqual(['Keyturn keeps running without a window']);
  // The tests of a home look for files that it leaves elsewhere.
  await ask(page, 'preferences.set', { openAtLogin: false });
});
