/**
 * The desktop app in a real Electron, driven by playwright.
 *
 * Invariant: nothing of the app is changed; what a person sees outside the windows (picture and menu of
 * the tray, notifications) is noted on its way to the system, since no call asks the system for it.
 */
import path from 'node:path';
import type * as Electron from 'electron';
import { _electron, type ElectronApplication } from 'playwright-core';
import { type TestHome, until } from '../support/home.ts';
import type { App, AtEnd, Tray } from './rig.ts';

const main = path.join(import.meta.dirname, '..', '..', 'dist', 'app', 'electron', 'main.js');

export async function openBinary(
  executablePath: string,
  home: TestHome,
  args: readonly string[],
  atEnd: AtEnd,
): Promise<App> {
  const launched = await _electron.launch({ executablePath, args: [main, ...args], env: environment(home) });
  const gone = new Promise<void>((resolve) => launched.once('close', () => resolve()));
  atEnd(() => launched.close());
  await launched.evaluate(recordTray);
  const look = (): Promise<Seen> => launched.evaluate(readRecord);
  // The app shows all of it anew at every look, and it looks when its daemon has started.
  await until('the icon', async () => (await look()).picture);
  return {
    pages: () => Promise.resolve(launched.windows()),
    tray: look,
    choose: (row) => act(launched, `a row ${row}`, clickRow, row),
    notifications: async () => (await look()).notifications,
    clickNotification: (words) => act(launched, `a notification of ${words}`, clickNotification, words),
    signal: async (name) => void launched.process().kill(name),
    gone: () => gone,
    quit: () => launched.close(),
  };
}

/** The home's own, and what leads to this machine's screen. */
function environment({ env }: TestHome): Record<string, string> {
  const screen = ['DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY'].map(
    (name) => [name, process.env[name]] as const,
  );
  return Object.fromEntries(
    [...screen, ...Object.entries(env)].flatMap(([name, value]) => (value ? [[name, value]] : [])),
  );
}

async function act(
  launched: ElectronApplication,
  what: string,
  click: (modules: unknown, words: string) => boolean,
  words: string,
): Promise<void> {
  await until(what, () => launched.evaluate(click, words));
}

interface Seen extends Tray {
  readonly notifications: readonly string[];
}

/** What the functions below keep in Electron's main process. They run there: nothing of this file is around them. */
interface TrayRecord {
  picture: string;
  rows: () => (readonly [label: string, click: () => void])[];
  notifications: Electron.Notification[];
}

interface Recorded {
  readonly record: TrayRecord;
}

function recordTray({ Tray, Notification }: typeof Electron): void {
  const record: TrayRecord = { picture: '', rows: () => [], notifications: [] };
  Object.assign(globalThis, { record });
  /** Hears of each call of a method, which then does what it always does. */
  const hear = <T extends object>(
    kind: T,
    method: keyof T,
    heard: (one: T, first: unknown) => void,
  ): void => {
    const done = kind[method] as (...args: unknown[]) => unknown;
    Object.assign(kind, {
      [method](this: T, ...args: unknown[]): unknown {
        heard(this, args[0]);
        return Reflect.apply(done, this, args);
      },
    });
  };
  const rowsOf = (items: readonly Electron.MenuItem[], above = ''): ReturnType<TrayRecord['rows']> =>
    items.flatMap((item) => [
      [above + item.label, () => item.click()],
      ...rowsOf(item.submenu?.items ?? [], `${above}${item.label} > `),
    ]);
  hear(Tray.prototype, 'setImage', (_tray, image) => {
    if (typeof image === 'string') record.picture = image.replace(/^.*[/\\]/, '');
  });
  hear(Tray.prototype, 'setContextMenu', (_tray, menu) => {
    record.rows = () => rowsOf((menu as Electron.Menu).items);
  });
  hear(Notification.prototype, 'show', (notification) => void record.notifications.push(notification));
}

function readRecord(): Seen {
  const { record } = globalThis as unknown as Recorded;
  return {
    picture: record.picture,
    rows: record.rows().map(([label]) => label),
    notifications: record.notifications.map(({ body }) => body),
  };
}

function clickRow(_modules: unknown, words: string): boolean {
  const { record } = globalThis as unknown as Recorded;
  const found = record.rows().find(([label]) => label.startsWith(words));
  // After the answer: a row may end the app.
  if (found) setImmediate(found[1]);
  return found !== undefined;
}

function clickNotification(_modules: unknown, words: string): boolean {
  const { record } = globalThis as unknown as Recorded;
  const found = record.notifications.findLast(({ body }) => body.includes(words));
  record.notifications = record.notifications.filter((other) => other !== found);
  found?.emit('click');
  return found !== undefined;
}
