/** What the window offers beside a server's address: a client registered by hand, exact scopes, a code on another device. */
import { expect, it } from 'vitest';
import { answerCall } from '../../electron/windows/ipc.ts';
import { homePaths } from '../../src/base/paths.ts';
import { connectAsOwner } from '../../src/client/connect.ts';
import type { Bends, Settings } from '../support/bent/authorization-server.ts';
import { homeInBentWorld, openSharedHome } from '../support/bent/home.ts';
import { accessibilityFaults } from '../support/browsers/accessibility.ts';
import { handlerOver } from './page-broker.ts';
import { button, windowsOfTests } from './page-window.ts';
import { ofFile, ofTest } from '../support/lasting.ts';

const openWindow = windowsOfTests();

const shared = ofFile(() => openSharedHome());

/** A window at the form, over the home's broker, and the servers of the form's address. */
async function openForm(authorization: Partial<Settings>, bend: Partial<Bends> = {}) {
  const there = await homeInBentWorld({ shared, authorization });
  Object.assign(there.authorizationServer.bend, bend);
  const { env } = there.home;
  const owner = await ofTest(connectAsOwner({ env, paths: homePaths(env) }));
  const said: string[] = [];
  const held: { until?: Promise<void> } = {};
  const window = await openWindow({
    hash: 'servers/add',
    answer: async (channel, params) => {
      const envelope = await answerCall(handlerOver(owner), channel, params);
      said.push(JSON.stringify(envelope));
      if (channel === 'signIn.start') await held.until;
      return envelope;
    },
  });
  const { page } = window;
  await page.getByLabel('Server address').fill(there.url);
  return { ...there, ...window, said, held };
}

const byHand = { registration: 'absent', issInResponse: false, resourceRequired: false } as const;

it('a refusal without registration leads to entering a client', async () => {
  const secret = 'of-a-desktop-app-by-hand';
  const { page, authorizationServer, said, held, change, complaints } = await openForm(byHand, {
    metadata: (document) => ({ ...document, code_challenge_methods_supported: undefined }),
    authorizeError: ({ query }) =>
      query.has('resource') ? { error: 'invalid_target', error_description: 'AADSTS9010010' } : undefined,
  });
  await button(page, 'Sign in').click();
  await page.getByText('Register Keyturn at the sign-in provider').waitFor();
  const redirectUri = (await page.locator('.copy pre').innerText()).trim();
  expect(redirectUri).toMatch(/^http:\/\/localhost:\d+\//);
  expect(await page.locator('main').innerText()).not.toContain('keyturn login');
  const { clientId } = authorizationServer.addClient({
    redirectUris: [redirectUri],
    authMethod: 'client_secret_post',
    secret,
  });
  // The refusal opened the options.
  await page.getByLabel('Client ID').fill(clientId);
  await page.getByLabel('Client secret').fill(secret);
  await page.getByLabel('Scopes').fill('notes.read');
  await page.getByText('adds security exceptions for this server if').waitFor();
  expect(await accessibilityFaults(page)).toEqual([]);
  const { promise, resolve } = Promise.withResolvers<void>();
  held.until = promise;
  await page.keyboard.press('Enter');
  expect(await page.getByLabel('Client secret').inputValue()).toBe('');
  await expect
    .poll(async () => {
      await change();
      return page.locator('main').innerText();
    })
    .toContain('This redirect URI must be registered for this client');
  expect(await page.locator('.copy pre').innerText()).toBe(redirectUri);
  resolve();
  await page.getByText('with these security exceptions: ').waitFor();
  const card = await page.locator('article').innerText();
  for (const shown of [
    'Accept a provider that doesn’t say that it protects the sign-in code (PKCE)',
    'Don’t require tokens to be limited to this server',
    'notes.read',
  ])
    expect(card).toContain(shown);
  expect(said.join('\n')).not.toContain(secret);
  expect(complaints).toEqual([]);
});

it('signs in with a code that the window shows, on another device', async () => {
  const { page, authorizationServer, change } = await openForm({ deviceAuthorization: true });
  await page.getByText('More options').click();
  await page.getByLabel('Sign in on another device').check();
  await button(page, 'Sign in').click();
  await button(page, 'Waiting for you on the other device…').waitFor();
  const code = page.locator('#view .code');
  await expect
    .poll(async () => {
      await change();
      return code.count();
    })
    .toBe(1);
  authorizationServer.approveDevice(await code.innerText());
  await page.locator('article').getByText('Signed in', { exact: true }).waitFor();
});
