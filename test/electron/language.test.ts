/** The app speaks the system's language: its menu, and the page of its window. */
import { expect, it, vi } from 'vitest';
import { app, double } from '../support/electron/electron-double.ts';
import { newHome } from '../support/home.ts';
import { binary, onlyPage, openApp } from './rig.ts';

it.skipIf(binary !== undefined)(
  'the app is in German where the system prefers that, in menu and window',
  async () => {
    vi.spyOn(app, 'getPreferredSystemLanguages').mockReturnValue(['fr-FR', 'de-DE', 'en-US']);
    const page = await onlyPage(await openApp(newHome()));
    await page.getByText('Willkommen bei Keyturn').waitFor();
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    expect(double.menu.map(({ label }) => label)).toContain('Keyturn öffnen');
    expect(double.applicationMenu).toMatchObject([{ label: 'Datei' }, { label: 'Ansicht' }]);
  },
);
