/** What the window shows of API keys, over a real broker: the card of a program that asks for one, and the list. */
import { describe, expect, it } from 'vitest';
import { questionId, startPageBroker } from './page-broker.ts';
import { approvable, button, windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

const value = 'ak_the-window-never-sees-this';

async function brokerWithKey() {
  const broker = await startPageBroker();
  const { resource, owner } = broker;
  await owner.request('apiKey.set', { resource, header: 'X-Api-Key', value, unchecked: true });
  return broker;
}

describe('the window', () => {
  it('shows that a program asks for the key, and allows that and no token', async () => {
    const broker = await brokerWithKey();
    const { resource, answer, owner, answered } = broker;
    const editor = await broker.program('editor');
    const asked = editor.getCredential({ resource, kinds: ['apiKey'], interaction: 'allow' });
    asked.catch(() => undefined);
    await questionId(owner, 'allow');
    const { page } = await openWindow({ answer, hash: 'card' });
    await page.getByRole('heading', { name: /^Give .* your API key for / }).waitFor();
    await page.getByText('X-Api-Key: …').waitFor();
    expect(await page.getByText('Permissions', { exact: true }).count()).toBe(0);
    await page.getByLabel('1 hour').check();
    await approvable(page);
    await button(page, 'Allow').click();
    expect(await asked).toMatchObject({ kind: 'apiKey', value });
    await expect(editor.getToken({ resource })).rejects.toMatchObject({ reason: 'login_required' });
    expect(answered.join('')).not.toContain(value);
  });

  it('lists a key with who may have it, ends a permission for it, and removes it', async () => {
    const broker = await brokerWithKey();
    const { resource, answer, owner, answered } = broker;
    await broker.program('editor');
    const allow = { app: 'editor', resource, decision: 'allow' };
    await owner.request('apiKey.permission.set', allow);
    const { page } = await openWindow({ answer, hash: 'servers' });
    const keys = page.locator('article');
    await keys.getByText('editor').waitFor();
    await keys.getByText('X-Api-Key: …').waitFor();
    await page.getByRole('tab', { name: 'Connected apps' }).click();
    await page.getByText('Your API key, in the header').waitFor();
    await page.getByRole('button', { name: /^Manage access of editor/ }).click();
    await button(page, 'Revoke access').click();
    await page.getByText('Your API key, in the header').waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: 'Servers' }).click();
    await keys.getByText('no app has access').waitFor();
    await page.getByRole('button', { name: /^Remove the API key/ }).click();
    await button(page, 'Remove').click();
    await keys.waitFor({ state: 'detached' });
    expect(await owner.request('apiKey.list')).toEqual({ apiKeys: [] });
    expect(answered.join('')).not.toContain(value);
  });
});
