/** The pause of all access at the desk: from the menu at once, and out of it by a press only. */
import { expect, it } from 'vitest';
import { newHome, until } from '../support/home.ts';
import { ask, iconShows, onlyPage, openApp, valueOf } from './rig.ts';

it('the app pauses from its menu, and resumes by a press in the window only', async () => {
  const opened = await openApp(newHome());
  const page = await onlyPage(opened);
  await opened.choose('Pause all access > For 1 hour');
  await iconShows(opened, 'held');
  const { pause } = valueOf(await ask(page, 'status', {}));
  // An hour from the click; it begins a moment later, and both are told in whole seconds.
  expect([3599, 3600]).toContain((pause?.until ?? 0) - (pause?.since ?? 0));
  expect((await opened.tray()).rows).toContain('Resume…');
  expect(await ask(page, 'resume', {})).toMatchObject({ refusal: { reason: 'not_permitted' } });
  await page.evaluate('location.hash = "servers"');
  await page.getByText('All access is paused. Apps get no access.').waitFor();
  const resume = page.getByRole('button', { name: 'Resume', exact: true });
  await until('a press counts', async () => {
    await resume.click({ timeout: 1000 }).catch(() => undefined);
    return (await resume.count()) === 0;
  });
  await iconShows(opened, 'fine');
});
