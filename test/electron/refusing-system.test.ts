/** What a real Electron or desktop does that an app easily forgets: it is late, refuses, or has no place to show something. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { deskCommandFile } from '../../src/base/paths.ts';
import { app, double } from '../support/electron/electron-double.ts';
import { newHome, until } from '../support/home.ts';
import { cardPage, deny } from './command-card.ts';
import { askByPress, lookAt, startInDouble } from './rig.ts';

const logOf = ({ paths }: ReturnType<typeof newHome>): string =>
  readFileSync(path.join(paths.state, 'broker.log'), 'utf8');

it('starts as a package, and notes its program', async () => {
  const home = newHome();
  await startInDouble(home, [], { isPackaged: true });
  await until('the window', () => double.windows[0]?.isVisible());
  expect(JSON.parse(readFileSync(deskCommandFile(home.paths), 'utf8'))).toEqual([process.execPath]);
  expect(double.errors).toEqual([]);
});

it('waits for an Electron that is ready late, and then shows the window that a second start asked for', async () => {
  const ready = Promise.withResolvers<void>();
  const starting = startInDouble(newHome(), ['--hidden'], { starting: ready.promise });
  app.emit('second-instance');
  expect(double.windows).toEqual([]);
  ready.resolve();
  await starting;
  await until('the window', () => double.windows[0]?.isVisible());
});

it('goes on without an icon that can’t be made, and shows its window, also in a hidden start', async () => {
  const home = newHome();
  await startInDouble(home, ['--hidden'], { trayFails: true });
  await until('the window', () => double.windows[0]?.isVisible());
  expect(double).toMatchObject({ exitCode: undefined, errors: [] });
});

it.each(['fails', 'never'] as const)(
  'asks on its card where a notification %s',
  async (showsNotifications) => {
    const home = newHome();
    await startInDouble(home, ['--hidden'], { showsNotifications });
    const asking = home.start(['app', 'allow', 'cli', 'https://notes.example/mcp']);
    const card = await until('the card', () => double.windows.find((window) => window.isVisible()));
    const page = await card.webContents.page;
    await deny({ page, id: page.url().split('#card/')[1] ?? '' });
    expect(await asking.ended).toMatchObject({ code: 4 });
    expect(logOf(home)).not.toMatch(/desk: \w*Error/);
  },
);

it('takes no press in a window that the desktop doesn’t bring to the front', async () => {
  const home = newHome();
  await startInDouble(home, [], { focus: 'refused' });
  const page = await until('the page', () => double.windows[0]?.webContents.page);
  await until('it is seen', () => double.windows[0]?.isVisible());
  await lookAt(page);
  const copied = await askByPress(page, () => page.keyboard.press('Shift'), 'text.copy', { text: 'x' });
  expect(copied).toMatchObject({ refusal: { message: expect.stringContaining('not in front') as string } });
});

it('asks on a card that the desktop gives the focus to at once, as on any other', async () => {
  const home = newHome();
  await startInDouble(home, ['--hidden'], { focus: 'taken' });
  const asking = home.start(['app', 'allow', 'cli', 'https://notes.example/mcp']);
  const card = await cardPage('A command wants to');
  await until('it has the focus', () => double.windows[0]?.isFocused());
  await deny(card);
  expect(await asking.ended).toMatchObject({ code: 4 });
});
