/** What stops every app at once, in the settings: the pause, and the end of all access. */
import { expect, it } from 'vitest';
import type { Answer } from './page-window.ts';
import { exampleAnswer } from '../support/homes/example-desk.ts';
import { button, windowsOfTests } from './page-window.ts';

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
