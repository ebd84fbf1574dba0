/** The main window's views over a real broker: what they show, what they do, and that anybody can use them. */
import type { Page } from 'playwright';
import { expect, it } from 'vitest';
import type { Connection } from '../../src/client/connection.ts';
import { type PageBroker, startPageBroker } from './page-broker.ts';
import { noteDialogFocus, windowsOfTests } from './page-window.ts';
import { getIfAny } from '../../src/vault/base/vault.ts';

const openWindow = windowsOfTests();

const both = 'notes:read notes:write';

/** `editor` may read and write notes and has a token; `reader` was denied. */
async function usedBroker(): Promise<{ broker: PageBroker; editor: Connection; token: string }> {
  const broker = await startPageBroker();
  const { owner, resource } = broker;
  const editor = await broker.program('editor');
  await owner.request('permission.set', { app: 'editor', resource, decision: 'allow', scope: both });
  const { access_token: token } = await editor.getToken({ resource, scope: both, interaction: 'allow' });
  await broker.program('reader');
  await owner.request('permission.set', { app: 'reader', resource, decision: 'deny' });
  return { broker, editor, token };
}

const said = (page: Page) => page.locator('.announcement p').innerText();

it('Servers shows a sign-in, and revokes it after a second step, with the receipt', async () => {
  const { broker, editor, token } = await usedBroker();
  const { resource, world } = broker;
  const secrets = await broker.secrets([token]);
  const { page, complaints, change } = await openWindow({ answer: broker.answer, hash: 'servers' });
  const card = page.locator('article');
  await card.waitFor();
  const text = await card.innerText();
  for (const part of [resource, world.authorizationServer.issuer, 'notes:read', 'Signed in', 'editor']) {
    expect(text).toContain(part);
  }
  const expires = card.locator('time').first();
  expect(await expires.innerText()).toMatch(/^in (?:5\d minutes|1 hour)\b/);
  expect(await expires.getAttribute('title')).toMatch(/\d{4}/);

  const dialogFocus = await noteDialogFocus(page);
  await card.getByRole('button', { name: /^Details/ }).click();
  const explained = page.getByRole('dialog', { name: 'Sign-in details' });
  await explained.locator('.timeline li').first().waitFor();
  expect(await explained.locator('.timeline li').allInnerTexts()).toEqual([
    expect.stringContaining('Access given'),
    expect.stringContaining('Sign-in'),
  ]);
  const standing = await explained.innerText();
  expect(standing).toMatch(/Current access until\s+in (?:5\d minutes|1 hour)\b/);
  expect(standing).toMatch(/Automatically, because an app uses it:\s+in 5\d minutes/);
  await explained.getByRole('button', { name: 'Close' }).click();

  const revoke = card.getByRole('button', { name: /^Revoke/ });
  await revoke.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Revoke this sign-in?' });
  expect(await dialog.innerText()).toContain(world.authorizationServer.issuer);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(await revoke.evaluate((button) => button.ownerDocument.activeElement === button)).toBe(true);
  expect(await card.innerText()).toContain('Signed in');
  expect(await dialogFocus()).toEqual([
    'came Close',
    `went Details of the sign-in to ${resource}`,
    'came Cancel',
    `went Revoke sign-in to ${resource}`,
  ]);

  await revoke.click();
  await dialog.getByRole('button', { name: 'Revoke sign-in', exact: true }).click();
  const receipt = page.getByRole('dialog', { name: 'Sign-in revoked here' });
  expect(await receipt.innerText()).toContain('The sign-in provider confirmed');
  await expect.poll(() => said(page)).toContain('The sign-in provider confirmed');
  await receipt.getByRole('button', { name: 'Close' }).click();
  await card.getByText('Revoked', { exact: true }).waitFor();
  expect(await revoke.count()).toBe(0);
  await expect(editor.getToken({ resource })).rejects.toMatchObject({ reason: 'login_required' });

  // Signed in again by the button, the refusal of a stopped broker stands beside what was read before.
  await card.getByRole('button', { name: /^Sign in again/ }).click();
  await card.getByText('Signed in', { exact: true }).waitFor();
  expect(await card.innerText()).toContain('notes:write');
  const seen = [...broker.asked, ...broker.answered, await page.content()].join('\n');
  for (const secret of [...secrets, ...(await broker.secrets([]))]) expect(seen).not.toContain(secret);
  expect(secrets.length).toBeGreaterThan(1);
  await broker.daemon.stop();
  await change();
  await page.getByRole('alert').first().waitFor();
  expect(await page.locator('main').innerText()).toContain('Keyturn could not load it again');
  expect(await card.innerText()).toContain(resource);
  expect(complaints).toEqual([]);
});

it('Connected apps narrows, ends, undoes a denial, and removes', async () => {
  const { broker, editor } = await usedBroker();
  const { owner, resource } = broker;
  const list = Promise.withResolvers<void>();
  let isHeld = false;
  const answer: PageBroker['answer'] = async (channel, params) => {
    if (channel === 'app.list' && isHeld) await list.promise;
    return broker.answer(channel, params);
  };
  const { page } = await openWindow({ answer, hash: 'apps' });
  const choose = (name: string) => page.locator('.pick', { hasText: name }).click();
  const card = (name: string) => page.locator('article', { has: page.locator('h3', { hasText: name }) });
  await choose('editor');
  await card('editor')
    .getByRole('button', { name: /^Manage/ })
    .click();
  const save = page.getByRole('button', { name: 'Save' });
  expect(await save.isDisabled()).toBe(true);
  for (const name of ['notes:read', 'notes:write']) await page.getByLabel(name).uncheck();
  expect(await save.isDisabled()).toBe(true);
  await page.getByLabel('notes:read').check();
  isHeld = true;
  await save.click();
  const listed = { name: 'editor', permissions: [{ scope: 'notes:read' }] };
  await expect.poll(() => owner.request('app.list')).toMatchObject({ apps: [{}, listed, {}] });
  // "Undo" restores the permission that the row shows: the dialog stays until the list was read again.
  await page.evaluate('window.keyturn.call("status", {})');
  expect(await page.getByRole('dialog').count()).toBe(1);
  expect(await save.isDisabled()).toBe(true);
  list.resolve();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(await card('editor').innerText()).not.toContain('notes:write');
  const revoke = async (): Promise<void> => {
    await card('editor')
      .getByRole('button', { name: /^Manage access of/ })
      .click();
    await page.getByRole('button', { name: 'Revoke access' }).click();
  };
  await revoke();
  await card('editor').getByText('Nothing.').waitFor();
  await page.getByRole('button', { name: 'Undo', exact: true }).click();
  await expect.poll(() => said(page)).toMatch(/^editor has its access to .* again\.$/);
  expect(await owner.request('app.list')).toMatchObject({ apps: [{}, listed, {}] });
  await revoke();
  await card('editor').getByText('Nothing.').waitFor();
  await expect(editor.getToken({ resource })).rejects.toMatchObject({ reason: 'consent_required' });

  await choose('reader');
  await card('reader').waitFor();
  expect(await card('reader').innerText()).toContain('Denied');
  await card('reader')
    .getByRole('button', { name: /^Remove denial/ })
    .click();
  await card('reader').getByText('Nothing.').waitFor();
  expect(await card('reader').innerText()).toContain('This file runs scripts');

  await card('reader')
    .getByRole('button', { name: /^Remove/ })
    .click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await card('reader').waitFor({ state: 'detached' });
  // Said once the answer has come, which may be after the list was read again.
  await expect.poll(() => said(page)).toBe('reader was removed.');
  // Its button is gone with it: the focus is on the view, not lost.
  await expect.poll(() => page.evaluate<string>('document.activeElement.tagName')).toBe('MAIN');
});

it('Activity lists, filters, draws and exports the audit trail', async () => {
  const { broker } = await usedBroker();
  const { page } = await openWindow({ answer: broker.answer, hash: 'activity' });
  const rows = page.locator('.entry');
  await rows.first().waitFor();
  const all = await rows.count();
  expect(all).toBeGreaterThan(6);
  await expect
    .poll(() => page.getByRole('img').getAttribute('aria-label'))
    .toBe(
      'In the last 24 hours: 1 token or API key issued, 0 requests refused, 0 renewals, and 0 renewals failed.',
    );
  await page.getByText('Show as table').click();
  expect(await page.locator('.hours tbody td').allInnerTexts()).toEqual(['1', '0', '0', '0']);
  await page.getByLabel('Kind').selectOption({ label: 'Access' });
  expect(await rows.count()).toBe(2);
  await page.getByLabel('App', { exact: true }).selectOption({ label: 'reader' });
  expect(await rows.allInnerTexts()).toEqual([expect.stringContaining('denied')]);
  await page.getByRole('button', { name: /JSON lines/ }).click();
  await page.getByText(/^Exported \d+ rows\.$/).waitFor();
});

it('Settings enters a client with a hidden secret, and sets and removes an exception', async () => {
  const broker = await startPageBroker();
  const { page, change } = await openWindow({ answer: broker.answer, hash: 'settings/providers' });
  const secret = 'only-the-vault-may-have-this';
  await page.getByText('Add a client', { exact: true }).click();
  await page.getByLabel('Sign-in provider', { exact: true }).fill('https://login.example');
  await page.getByLabel('Client ID').fill('by-hand');
  await page.getByLabel('Client authentication').selectOption('client_secret_basic');
  const field = page.getByRole('textbox', { name: 'Client secret' });
  await field.fill(secret);
  expect(await field.getAttribute('type')).toBe('password');
  await page.getByRole('button', { name: 'Add the client' }).click();
  await page.getByText('Register this redirect URI at the sign-in provider:').waitFor();
  expect(await page.content()).not.toContain(secret);
  expect(broker.asked.join('\n')).toContain(secret);
  expect(broker.answered.join('\n')).not.toContain(secret);

  await page.getByRole('button', { name: 'Security', exact: true }).click();
  await page.getByText('Add an exception').first().click();
  await page.getByLabel('Server or sign-in provider').fill('https://login.example');
  await page.getByRole('button', { name: 'Add an exception' }).click();
  const keep = page.getByRole('button', { name: /^Remove exception/ });
  await keep.first().waitFor();
  expect(await broker.owner.request('status')).toMatchObject({
    exceptions: [{ names: ['issuer-mismatch'] }],
  });
  await keep.first().click();
  await page.getByText('There are no security exceptions.').waitFor();

  await page.getByRole('button', { name: 'General', exact: true }).click();
  await page.getByLabel('Notifications').uncheck();
  await expect.poll(() => broker.preferences.notifications).toBe(false);
  const withScreen = page.getByLabel('Lock when the screen locks');
  await withScreen.waitFor();
  await broker.owner.request('settings.set', { name: 'lockWithScreen', value: true });
  broker.screenLock.state = 'ended';
  await change();
  await page.getByText('Not listening: the listener has stopped.').waitFor();
  await broker.owner.request('settings.set', { name: 'lockWithScreen', value: false });
  await change();
  await withScreen.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Sign-in providers', exact: true }).click();
  await page.getByRole('textbox', { name: /metadata document/ }).fill('http://not-https.example/client.json');
  await page.getByRole('button', { name: 'Save' }).click();
  // The broker's own words, in place.
  expect(await page.getByRole('alert').innerText()).not.toBe('');
});

it('OAuth clients are listed, and removed in two steps unless a sign-in needs them', async () => {
  const { broker } = await usedBroker();
  const { issuer } = broker.world.authorizationServer;
  const secret = 'only-the-vault-may-have-this';
  const { redirectUri } = (await broker.owner.request('oauthClient.add', {
    issuer: 'https://login.example',
    clientId: 'by-hand',
    clientSecret: secret,
    authMethod: 'client_secret_post',
  })) as { redirectUri: string };
  const { registrations } = broker.daemon.broker.parts;
  const record = registrations.all().find(({ registration }) => registration.clientId === 'by-hand');
  const keptSecret = () => getIfAny(broker.daemon.broker.parts.vault, record?.secret ?? '');
  expect(await keptSecret()).toBe(secret);

  const { page, complaints } = await openWindow({ answer: broker.answer, hash: 'settings/providers' });
  const clients = page.getByRole('region', { name: 'OAuth clients by provider' });
  const removal = (name: RegExp) => clients.getByRole('button', { name });
  await removal(/^Remove the client by-hand at/).waitFor();
  const text = await clients.innerText();
  for (const part of ['https://login.example', 'by-hand', redirectUri, 'Client secret, in the request']) {
    expect(text).toContain(part);
  }
  expect(text).not.toContain(issuer);
  await clients.getByText('Registered automatically: 1').click();
  expect(await clients.innerText()).toContain(issuer);

  const dialog = page.getByRole('dialog', { name: 'Remove this client?' });
  await removal(new RegExp(`at ${issuer}$`)).click();
  expect(await dialog.innerText()).toContain(issuer);
  await dialog.getByRole('button', { name: 'Remove' }).click();
  expect(await dialog.getByRole('alert').innerText()).toContain(`still needed by: "${broker.resource}"`);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });

  await removal(/^Remove the client by-hand at/).click();
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(registrations.all()).toHaveLength(2);
  await removal(/^Remove the client by-hand at/).click();
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await clients.getByText('No client was added.').waitFor();
  // Said once the answer has come, which may be after the list was read again.
  await expect.poll(() => said(page)).toBe('The client at https://login.example was removed.');
  expect(registrations.all()).toHaveLength(1);
  expect(await keptSecret()).toBeUndefined();
  expect(broker.answered.join('\n')).not.toContain(secret);
  expect(complaints).toEqual([]);
});
