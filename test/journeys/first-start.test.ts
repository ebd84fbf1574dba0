/** The first start of the app, and the second. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { until } from '../support/home.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { ofFile } from '../support/lasting.ts';
import { openWorld } from '../support/world.ts';
import { names } from './names.ts';
import { button, newDesk } from './person.ts';

const world = ofFile(() => openWorld());

it('the first run welcomes a new user once, and starts at login if they say so', async () => {
  const config = temporaryFolder();
  // No server is spoken to, and what a new home asks about such settings isn't the subject.
  const env = { XDG_CONFIG_HOME: config, NODE_EXTRA_CA_CERTS: undefined, KEYTURN_BROWSER: undefined };
  const desk = newDesk(world.caFile, { vault: 'memory', env });
  const app = await desk.openApp();
  const [page] = await app.pages();
  if (!page) throw new Error('no window was opened');
  await page.getByRole('heading', { name: 'Welcome to Keyturn' }).waitFor();
  await page.getByRole('heading', { name: 'Connect the apps on this computer' }).waitFor();
  await button(page, 'Next').click();
  await button(page, 'Next').click();
  await page.getByLabel('Start when I log in').check();
  const entry = path.join(config, 'autostart', 'keyturn.desktop');
  const text = await until('the autostart file', () => {
    try {
      return readFileSync(entry, 'utf8');
    } catch {
      return undefined;
    }
  });
  expect(text).toMatch(/^Exec=".+" --hidden$/m);
  await button(page, 'Show my servers').click();
  await page.getByRole('heading', { name: names.tabs.servers, exact: true }).waitFor();
  await app.quit();

  const again = await desk.openApp();
  const [second] = await again.pages();
  await second?.getByRole('heading', { name: 'Who uses what' }).waitFor();
  expect(await second?.getByText('Welcome to Keyturn').count()).toBe(0);
});
