/** How windows come and go by themselves: the card's, with what waits; and one whose page can't be loaded. */
import { describe, expect, it } from 'vitest';
import { pair } from '../../src/client/index.ts';
import { double, powerMonitor } from '../support/electron/electron-double.ts';
import { newHome, type TestHome, until } from '../support/home.ts';
import { deny } from './command-card.ts';
import { ask, openApp, valueOf } from './rig.ts';

describe('the card window', () => {
  const allow = (home: TestHome, host: string) => home.start(['app', 'allow', 'cli', `https://${host}/mcp`]);

  /** The window that came up without anybody's doing, and the question that it shows. */
  async function cardWindow() {
    const window = await until('the card window', () => double.windows.find((open) => open.isVisible()));
    const page = await window.webContents.page;
    return { window, page, question: () => page.url().split('#card/')[1] ?? '' };
  }

  /** An app without a window, and a command that asks it. */
  async function asking() {
    const home = newHome();
    const opened = await openApp(home, ['--hidden']);
    return { home, opened, asked: allow(home, 'one.example') };
  }

  it('appears without focus, shows the next question, and closes with the last', async () => {
    const { home, asked } = await asking();
    const { window, page, question } = await cardWindow();
    expect(window.isFocused()).toBe(false);
    const shown = question();
    // As high as its card, not as it was made.
    await until('its height fits', () => window.getContentSize()[1] !== window.options.height);
    const second = allow(home, 'two.example');
    await until('both are told', () => double.notifications.length === 2);
    expect(question()).toBe(shown);
    await page.getByText('Request 1 of 2').waitFor();
    valueOf(await ask(page, 'request.answer', { id: shown, answer: 'deny' }));
    expect(await asked.ended).toMatchObject({ code: 4 });
    await until('the next question', () => question() !== shown);
    expect(double.windows).toEqual([window]);
    void deny({ page, id: question() });
    expect(await second.ended).toMatchObject({ code: 4 });
    await until('the window is closed', () => double.windows.length === 0);
  });

  it('comes to the front by its notification, and opens again once closed', async () => {
    const { opened, asked } = await asking();
    const { window, question } = await cardWindow();
    const shown = question();
    const [notification] = double.notifications;
    const loads: string[] = [];
    // A page that is loaded anew forgets what the user chose on it.
    window.loadURL = async (url) => void loads.push(url);
    await opened.clickNotification('A command wants to');
    await until('it is in front', () => window.isFocused());
    expect(loads).toEqual([]);
    window.close();
    notification?.emit('click');
    const again = await until('another window', () =>
      double.windows.find((open) => open !== window && open.isFocused()),
    );
    const there = await again.webContents.page;
    expect(there.url()).toContain(`#card/${shown}`);
    void deny({ page: there, id: shown });
    expect(await asked.ended).toMatchObject({ code: 4 });
  });

  it('stays where its question went away by itself, and takes the next one', async () => {
    const { home, asked } = await asking();
    const { window, page, question } = await cardWindow();
    const shown = question();
    asked.signal('SIGINT');
    await page.getByText('Nothing waits for you.').waitFor();
    expect(double.windows).toEqual([window]);
    window.hide();
    const program = pair({ name: 'editor', env: home.env, onCode: () => undefined });
    program.catch(() => undefined);
    await until('the next question is seen', () => question() !== shown && window.isVisible());
    expect(window.isFocused()).toBe(false);
    expect(double.windows).toEqual([window]);
  });

  it('shows a question that comes while it is closing in a new one', async () => {
    const { home, asked } = await asking();
    const { window, page, question } = await cardWindow();
    const isClosing = new Promise<void>((resolve) => {
      // As in Electron: the page ends first.
      window.close = () => {
        window.emit('close', { preventDefault: () => undefined });
        resolve();
      };
    });
    void deny({ page, id: question() });
    await asked.ended;
    await isClosing;
    pair({ name: 'editor', env: home.env, onCode: () => undefined }).catch(() => undefined);
    await until('a window of its own', () => double.windows.length === 2 && double.windows[1]?.isVisible());
    window.destroy();
    expect(double.windows).toHaveLength(1);
  });

  it('comes up with the next look where its page could not be loaded at first', async () => {
    const home = newHome();
    await openApp(home, ['--hidden']);
    const served = double.protocols.get('keyturn-app');
    double.protocols.delete('keyturn-app');
    const asked = allow(home, 'one.example');
    await until('it could not be loaded', () => double.leaked.length > 0 && double.windows.length === 0);
    if (served) double.protocols.set('keyturn-app', served);
    double.leaked.length = 0;
    powerMonitor.emit('resume');
    const { page, question } = await cardWindow();
    void deny({ page, id: question() });
    expect(await asked.ended).toMatchObject({ code: 4 });
  });
});
