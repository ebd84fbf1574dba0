/** What the window shows of proxies and does with them, over a real broker. */
import { expect, it } from 'vitest';
import { accessibilityFaults } from '../support/browsers/accessibility.ts';
import { questionId, startPageBroker } from './page-broker.ts';
import { button, windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

interface Listed {
  readonly proxies: readonly { readonly url: string; readonly name: string; readonly port: number }[];
}

it('the window adds, changes and removes a proxy, and never sees its address', async () => {
  const broker = await startPageBroker();
  const { answer, owner, resource, answered, asked } = broker;
  const proxies = async (): Promise<Listed['proxies']> =>
    ((await owner.request('proxy.list')) as Listed).proxies;
  const { page } = await openWindow({ answer, hash: 'settings/advanced' });
  const section = page.getByRole('region', { name: 'Proxies' });
  await section.getByText('No proxy was added.').waitFor();

  // By the keyboard alone.
  await section.getByText('Add a proxy', { exact: true }).press('Enter');
  await page.getByLabel('Server address').fill(resource);
  await page.getByLabel('Name of the proxy').fill('notes');
  await page.keyboard.press('Enter');
  await page.locator('.announcement').getByText('The proxy notes was added.').waitFor();
  const [added] = await proxies();
  await section.getByText(String(added?.port), { exact: true }).waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);

  const calling = fetch(added?.url ?? '', { method: 'POST', body: '{}' });
  calling.catch(() => undefined);
  await questionId(owner, 'allow');
  await page.getByRole('button', { name: 'Copy address of the proxy notes' }).click();
  await page.locator('.announcement').getByText('The address of the proxy notes is copied.').waitFor();
  expect(asked.join('')).toContain('proxy.copy');

  await page.getByRole('button', { name: 'New address for the proxy notes' }).click();
  await button(page, 'New address').click();
  await page.locator('.announcement').getByText('The proxy notes has a new address.').waitFor();
  const [rotated] = await proxies();
  expect(rotated).toMatchObject({ name: 'notes', port: added?.port });
  expect(rotated?.url).not.toBe(added?.url);

  await page.getByRole('button', { name: 'Remove the proxy notes' }).press('Enter');
  await button(page, 'Remove').click();
  await section.getByText('No proxy was added.').waitFor();
  expect([await proxies(), await owner.request('app.list')]).toEqual([
    [],
    { apps: [expect.objectContaining({ name: 'cli' })] },
  ]);
  for (const proxy of [added, rotated]) {
    const path = new URL(proxy?.url ?? '').pathname.split('/')[1] ?? '';
    expect(path.length).toBeGreaterThan(16);
    expect(answered.join('')).not.toContain(path);
  }
});
