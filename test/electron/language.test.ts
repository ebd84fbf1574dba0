/** The app speaks the system's language: its menu, and the page of its window. */
import { expect, it } from 'vitest';
import { double } from '../support/electron/electron-double.ts';
import { newHome, until } from '../support/home.ts';
import { binary, startInDouble } from './rig.ts';

it.skipIf(binary !== undefined)(
  'the app is in German where the system prefers that, in menu and window',
  async () => {
    await startInDouble(newHome(), [], { languages: ['fr-FR', 'de-DE', 'en-US'] });
    const window = await until('the window', () => double.windows[0]);
    const page = await window.webContents.page;
    await page.getByText('Willkommen bei Keyturn').waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    expect(double.menu.map(({ label }) => label)).toContain('Keyturn öffnen');
    expect(double.applicationMenu).toMatchObject([{ label: 'Datei' }, { label: 'Ansicht' }]);
  },
);
