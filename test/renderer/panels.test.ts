/** Panels and lists of the window that stand by themselves: what they show, ask of the broker, and never get. */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { exampleAnswer, exampleSignIns } from '../support/homes/example-desk.ts';
import { clientOf, many, signInOf } from '../support/states/lists.ts';
import { pair } from '../../src/client/pair.ts';
import { connect } from '../../src/client/connect.ts';
import { accessibilityFaults } from '../support/browsers/accessibility.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import type { Question } from '../../renderer/base/views.ts';
import { type Answer, approvable, button, notingAnswers, windowsOfTests } from './page-window.ts';
import { questionId, startPageBroker } from './page-broker.ts';
import { ofTest } from '../support/lasting.ts';

const openWindow = windowsOfTests();

const taking = ['pause', 'resume', 'signIn.revoke'];

/** What the page asked of the broker that takes away or gives back. */
function noting(asked: unknown[], other: Parameters<typeof exampleAnswer>[0] = {}): Answer {
  const example = exampleAnswer({ pause: { since: 1 }, 'signIn.revoke': { revoked: [] }, ...other });
  return async (channel, params) => {
    if (taking.includes(String(channel))) asked.push([channel, params]);
    return example(channel, params);
  };
}

it('the settings pause all access for an hour or until it is resumed', async () => {
  const asked: unknown[] = [];
  const { page } = await openWindow({ hash: 'settings/security', answer: noting(asked) });
  await button(page, 'Pause until I resume').click();
  await expect.poll(() => asked).toEqual([['pause', {}]]);
  await button(page, 'Pause for 1 hour').click();
  await expect.poll(() => asked[1]).toMatchObject(['pause', { until: expect.any(Number) }]);
});

it('revoking all access names apps and servers, and needs a confirmation', async () => {
  const asked: unknown[] = [];
  const live = exampleSignIns.filter(({ state }) => state !== 'revoked');
  const { page } = await openWindow({ hash: 'settings/security', answer: noting(asked) });
  await button(page, 'Revoke all…').click();
  const dialog = page.getByRole('dialog');
  const text = await dialog.innerText();
  for (const app of live.flatMap(({ apps }) => apps)) expect(text).toContain(app);
  expect(live.flatMap(({ apps }) => apps)).not.toEqual([]);
  expect(asked).toEqual([]);
  await button(page, 'Revoke all access').click();
  await dialog.waitFor({ state: 'detached' });
  expect(asked).toEqual(live.map(({ id }) => ['signIn.revoke', { id }]));
});

it('the window lists open forwards, and ends one', async () => {
  const { answer, owner, resource } = await startPageBroker();
  const socket = path.join(temporaryFolder(), 'agent.sock');
  const opened = { label: 'agent', path: socket, resources: [resource], lifetime: 3600 };
  await owner.request('forward.open', opened);
  const machine = { label: 'build.example', hostKey: `SHA256:${'k'.repeat(43)}` };
  await owner.request('forward.open', { ...machine, resources: [resource], lifetime: 3600 });
  const env = { KEYTURN_HOME: temporaryFolder(), KEYTURN_SOCKET: socket };
  const pairing = pair({ name: 'editor', env, onCode: () => undefined });
  await owner.request('request.answer', { id: await questionId(owner, 'pair'), answer: 'approve' });
  const key = await pairing;
  const program = await ofTest(connect({ key, env }));

  const { page } = await openWindow({ answer, hash: 'apps' });
  const section = page.getByRole('region', { name: 'Open to other machines and sandboxes' });
  await section.getByText('build.example').waitFor();
  await section.getByText(machine.hostKey).waitFor();
  await section.getByText('None: it is a sandbox on this computer').waitFor();
  expect(await section.getByText(resource).count()).toBe(2);
  expect(await accessibilityFaults(page)).toEqual([]);

  // By the keyboard alone.
  await page.getByRole('button', { name: 'Remove agent' }).press('Enter');
  await page.getByRole('dialog').getByText('any more').waitFor();
  await button(page, 'Remove').press('Enter');
  await page.locator('.announcement').getByText('Programs on agent can’t ask for access any more.').waitFor();
  await expect(program.request('token.get', { resource })).rejects.toThrow();
  await expect(connect({ key, env })).rejects.toMatchObject({ reason: 'broker_unreachable' });
  expect(await owner.request('forward.list')).toMatchObject({ forwards: [{ label: 'build.example' }] });

  await page.getByRole('button', { name: 'Remove build.example' }).click();
  await button(page, 'Remove').click();
  await section.waitFor({ state: 'detached' });
});

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
    const secret = new URL(proxy?.url ?? '').pathname.split('/')[1] ?? '';
    expect(secret.length).toBeGreaterThan(16);
    expect(answered.join('')).not.toContain(secret);
  }
});

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

it('groups what the home allows, counts the rest, and removes all of it by default', async () => {
  const question: Question = {
    id: 'q1',
    kind: 'settings',
    settings: [{ name: 'httpsProxy', value: 'http://proxy.example:3128' }],
    allowed: [{ what: 'apps', count: 12, lines: ['editor', '\u202Eagent'] }],
    createdAt: 1,
    state: 'open',
  };
  const { answers, answer } = notingAnswers({ 'request.list': { requests: [question] } });
  const { page } = await openWindow({ hash: 'card/q1', answer });
  const card = page.locator('.question');
  await page.getByText('Keep what is allowed here?').waitFor();
  const text = await card.innerText();
  for (const part of ['Apps (12)', 'editor', 'and 10 more', 'httpsProxy']) expect(text).toContain(part);
  expect(text).not.toContain('\u202E');
  await page.getByRole('button', { name: 'Remove all' }).click();
  await expect.poll(() => answers).toEqual([{ id: 'q1', answer: 'deny' }]);
});

it('500 servers and 200 apps are shown some at a time, and the filter finds all', async () => {
  const permissions = [{ resource: 'https://a.b', decision: 'allow' as const, deniedAccounts: ['home'] }];
  const { page } = await openWindow({
    hash: 'servers',
    answer: exampleAnswer({
      'signIn.list': {
        signIns: many(500).map((n) => signInOf({ id: `g${n}`, endpoint: `https://server-${n}.example/mcp` })),
      },
      'app.list': {
        apps: many(200).map((n) => clientOf({ appId: `c${n}`, name: `program-${n}`, permissions })),
      },
    }),
  });
  const rows = page.locator('.pick');
  await page.getByText('500 servers').waitFor();
  expect(await rows.count()).toBe(30);
  await page.getByRole('button', { name: 'Show more' }).scrollIntoViewIfNeeded();
  await expect.poll(() => rows.count()).toBeGreaterThan(30);
  expect(await rows.count()).toBeLessThan(150);
  await page.getByLabel('Filter servers').fill('server-499.');
  await page.getByText('1 server', { exact: true }).waitFor();
  expect(await rows.count()).toBe(1);
  await page.evaluate('location.hash = "apps"');
  await page.getByText('200 apps').waitFor();
  await page.getByLabel('Filter apps').fill('program-199');
  await expect.poll(() => rows.count()).toBe(1);
  await rows.click();
  await page.getByText('You denied: home').waitFor();
});
