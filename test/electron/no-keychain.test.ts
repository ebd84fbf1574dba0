/** A desktop without a keychain: the app says so, and offers a sealed file to a home that holds nothing yet. */
import { expect, it } from 'vitest';
import { double } from '../support/electron/electron-double.ts';
import { newHome } from '../support/home.ts';
import { iconShows, lookAt, onlyPage, openApp } from './rig.ts';

it('says so at its start, and keeps secrets in a file instead', async () => {
  // The home's environment names no session bus.
  const home = newHome({ env: { KEYTURN_VAULT: 'keychain', KEYTURN_VAULT_KEY: 'keychain' } });
  const opened = await openApp(home);
  const page = await onlyPage(opened);
  await page.getByText('No keychain was found.').waitFor();
  await iconShows(opened, 'trouble');
  await lookAt(page);
  await page.getByRole('button', { name: 'Keep secrets in a file' }).click();
  await opened.gone();
  const { relaunched } = double;
  expect(relaunched).toEqual([]);

  const again = await openApp(home, relaunched);
  const next = await onlyPage(again);
  await next.getByText('Keyturn has no passphrase yet.').waitFor();
  await lookAt(next);
  await next.getByRole('button', { name: 'Choose a passphrase' }).click();
  await next.getByLabel('Passphrase', { exact: true }).fill('open barley');
  await next.getByLabel('Repeat').fill('open barley');
  await next.getByRole('dialog').getByRole('button', { name: 'Choose a passphrase' }).click();
  await next.getByText('Keyturn is unlocked.').waitFor();
  expect(await home.json('status')).toMatchObject({ vault: 'sealed-file', vaultState: { state: 'open' } });
});
