/** The app writes dates as the system's country does. */
import { expect, it } from 'vitest';
import { double } from '../support/electron/electron-double.ts';
import { newHome, until } from '../support/home.ts';
import { binary, startInDouble } from './rig.ts';

it.skipIf(binary !== undefined)('the window gets English with the system’s country', async () => {
  await startInDouble(newHome(), [], { locale: 'de-AT' });
  const window = await until('the window', () => double.windows[0]);
  const page = await window.webContents.page;
  await page.getByText('Welcome to Keyturn').waitFor();
  expect(await page.evaluate('keyturn.locale')).toBe('en-AT');
});
