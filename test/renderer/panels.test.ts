/** Panels and lists of the window that stand by themselves: what they show, ask of the broker, and never get. */
import { describe, expect, it } from 'vitest';
import { exampleAnswer } from '../support/homes/example-desk.ts';
import type { Question } from '../../renderer/base/views.ts';
import { type Answer, approvable, button, notingAnswers, windowsOfTests } from './page-window.ts';
import { questionId, startPageBroker } from './page-broker.ts';

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

it('revoking all access names apps and servers, and needs a confirmation', async () => {
  const asked: unknown[] = [];
  const answer = noting(asked);
  const listed = await exampleAnswer()('signIn.list', {});
  const { signIns } = (
    listed as { value: { signIns: { id: string; state: string; endpoint: string; apps: string[] }[] } }
  ).value;
  const live = signIns.filter(({ state }) => state !== 'revoked');
  const { page } = await openWindow({ hash: 'settings/security', answer });
  await button(page, 'Revoke all…').click();
  const dialog = page.getByRole('dialog');
  const text = await dialog.innerText();
  for (const app of live.flatMap(({ apps }) => apps)) expect(text).toContain(app);
  expect(live.flatMap(({ apps }) => apps)).not.toEqual([]);
  expect(asked).toEqual([]);
  await button(page, 'Revoke all access').click();
  await dialog.waitFor({ state: 'detached' });
  expect(asked).toEqual(live.map(({ id }) => ['signIn.revoke', { id: id }]));
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
  await expect.poll(() => answers).toEqual([{ id: 'q1', answer: 'no' }]);
});
