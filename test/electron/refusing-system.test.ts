/** What a real Electron or desktop does that an app easily forgets: it is late, refuses, or has no place to show something. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { double } from '../support/electron/electron-double.ts';
import { newHome, until } from '../support/home.ts';
import { deny } from './command-card.ts';
import { askByPress, lookAt, startInDouble } from './rig.ts';

const logOf = ({ paths }: ReturnType<typeof newHome>): string =>
  readFileSync(path.join(paths.state, 'broker.log'), 'utf8');

it('continues without an icon, and shows its window in a hidden start too', async () => {
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
    expect(logOf(home)).not.toMatch(/app: \w*Error/);
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
