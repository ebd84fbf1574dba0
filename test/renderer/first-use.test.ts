/** The card at the app's first use of a home that was used without it. */
import { expect, it } from 'vitest';
import { exampleAnswer } from '../support/homes/example-desk.ts';
import type { Question } from '../../renderer/base/views.ts';
import { windowsOfTests } from './page-window.ts';

const openWindow = windowsOfTests();

it('groups what the home allows, counts the rest, and removes all of it by default', async () => {
  const answers: unknown[] = [];
  const question: Question = {
    id: 'q1',
    kind: 'settings',
    settings: [{ name: 'httpsProxy', value: 'http://proxy.example:3128' }],
    allowed: [{ what: 'apps', count: 12, lines: ['editor', '\u202Eagent'] }],
    createdAt: 1,
    state: 'open',
  };
  const listed = exampleAnswer({ 'request.list': { requests: [question] } });
  const { page } = await openWindow({
    hash: 'card/q1',
    answer: async (channel, params) => {
      if (channel === 'request.answer') answers.push(params);
      return listed(channel, params);
    },
  });
  const card = page.locator('.question');
  await page.getByText('Keep what is allowed here?').waitFor();
  const text = await card.innerText();
  for (const part of ['Apps (12)', 'editor', 'and 10 more', 'httpsProxy']) expect(text).toContain(part);
  expect(text).not.toContain('\u202E');
  await page.getByRole('button', { name: 'Remove all' }).click();
  await expect.poll(() => answers).toEqual([{ id: 'q1', answer: 'no' }]);
});
