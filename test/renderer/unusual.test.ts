/** What is rare with a real broker: troubles of sign-ins, and a locked vault. The answers are written down. */
import { expect, it } from 'vitest';
import { exampleLater } from '../support/homes/example-desk.ts';
import { vault } from '../support/states/lists.ts';
import { answerIn } from '../support/states/states.ts';
import { type PageWindow, windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

const show = (lists: object, hash: string, asked: [unknown, unknown][] = []): Promise<PageWindow> => {
  const answer = answerIn({ lists });
  return openWindow({
    hash,
    later: exampleLater(),
    answer: async (channel, params) => {
      if (String(channel).startsWith('vault.')) asked.push([channel, params]);
      return String(channel).startsWith('vault.') ? { ok: true, value: {} } : answer(channel, params);
    },
  });
};

it('a locked vault is unlocked from every view, and no field keeps the passphrase', async () => {
  const asked: [unknown, unknown][] = [];
  const { page } = await show(
    vault('locked', { vault: 'sealed-file', vaultOpenedBy: 'passphrase' }),
    'activity',
    asked,
  );
  await page.getByText('Keyturn is locked.').waitFor();
  await page.getByRole('button', { name: 'Unlock' }).click();
  const passphrase = page.getByLabel('Passphrase');
  expect(await passphrase.evaluate((field) => field.matches(':focus'))).toBe(true);
  await passphrase.fill('open sesame');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(asked).toEqual([['vault.unlock', { passphrase: 'open sesame' }]]);
  await page.evaluate('location.hash = "settings/security"');
  await page.getByText('Change the passphrase').first().click();
  await page.getByLabel('Current passphrase').fill('open sesame');
  await page.getByLabel('New passphrase').fill('open barley');
  await page.getByRole('button', { name: 'Change the passphrase' }).click();
  expect(await page.getByLabel('New passphrase').inputValue()).toBe('');
  await expect
    .poll(() => asked.at(-1))
    .toEqual(['vault.passphrase', { current: 'open sesame', next: 'open barley' }]);
  expect(await page.content()).not.toContain('open ');
});
