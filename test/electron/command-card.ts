/** The card of a command over the double: opened by its notification, answered by a press. A card before is none. */
import type { Page } from 'playwright';
import { expect } from 'vitest';
import { double } from '../support/electron/electron-double.ts';
import { type TestHome, until } from '../support/home.ts';
import { ask, askByPress, valueOf } from './rig.ts';

/** The last question that was looked at: its card may still be going. */
let earlier = '';

/** The card window's page at this question, once somebody clicked its notification. */
export async function cardPage(kind: string): Promise<{ page: Page; id: string }> {
  const notification = await until(`a notification of ${kind}`, () =>
    double.notifications.find(({ options }) => options.body?.includes(kind)),
  );
  double.notifications = [];
  notification.emit('click');
  const page = await until('the card window', async () => {
    // It is shown once its page is there, and looked at from then on.
    const inFront = double.windows.filter((window) => window.isFocused());
    const pages = await Promise.all(inFront.map(({ webContents }) => webContents.page));
    return pages.find((open) => /#card\/./.test(open.url()) && !open.url().endsWith(`/${earlier}`));
  });
  const [, id = ''] = page.url().split('#card/');
  earlier = id;
  return { page, id };
}

export async function approve({ page, id }: { page: Page; id: string }) {
  // The page says itself that the card is whole, and arms its button half a second after that was heard.
  await page.locator('button.primary:enabled').waitFor();
  // The main process sees a press in this window; what was hit is the page's affair.
  const press = () => page.locator('.question h3').click();
  return askByPress(page, press, 'request.answer', { id, answer: 'approve' });
}

export async function deny({ page, id }: { page: Page; id: string }): Promise<void> {
  // The card may be gone before its page hears the answer.
  await ask(page, 'request.answer', { id, answer: 'deny' }).then(valueOf, () => undefined);
}

/** Runs a command that widens something, and approves its card. */
export async function withYes(home: TestHome, args: readonly string[]): Promise<void> {
  const command = home.start(args);
  expect(await approve(await cardPage('A command wants to'))).toEqual({ ok: true, value: {} });
  expect(await command.ended).toMatchObject({ code: 0, stdout: '' });
}
