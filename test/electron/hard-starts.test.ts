/** Starts, ends and pauses of the app in which the system refuses something, or something else happens at the same moment. */
import path from 'node:path';
import { readFileSync, statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { app, double } from '../support/electron/electron-double.ts';
import { newHome, processFacts, until } from '../support/home.ts';
import { childrenOf } from '../support/processes/process-table.ts';
import { appCommandFile } from '../../src/base/paths.ts';
import { cardPage, deny } from './command-card.ts';
import { ask, askByPress, iconShows, lookAt, onlyPage, openApp, startInDouble, valueOf } from './rig.ts';

it('ends without an error if it is told to as soon as Electron is ready', async () => {
  const ready = Promise.withResolvers<void>();
  const starting = startInDouble(newHome(), ['--hidden'], { starting: ready.promise });
  ready.resolve();
  await ready.promise;
  app.quit();
  await double.ended.promise;
  await starting;
  expect(double.errors).toEqual([]);
});

it('starts and ends while its keychain does not answer', async () => {
  const home = newHome({ env: { KEYTURN_VAULT: 'keychain' } });
  const starting = startInDouble(home, ['--hidden']);
  // Only this process's: other files of the run have such processes too.
  const pid = await until('the keychain’s process', () =>
    childrenOf(process.pid).find((each) =>
      processFacts(each).argv.some((word) => word.includes('keychain-worker')),
    ),
  );
  process.kill(pid, 'SIGSTOP');
  await starting;
  app.quit();
  await double.ended.promise;
  await until('its process is gone', () => processFacts(pid).argv.length === 0);
});

it.each([
  ['memory', ['app', 'allow', 'cli', 'https://notes.example/mcp']],
  // The vault is not open yet, so that a later broker doesn't know of the app.
  ['keychain', ['settings', 'set', 'lockAfter', '600']],
] as const)(
  'ends under the card of a command, which no other broker carries out (vault %s)',
  async (vault, args) => {
    const home = newHome({ vault });
    await startInDouble(home, ['--hidden']);
    const asking = home.start(args);
    await cardPage('A command wants to');
    app.quit();
    await double.ended.promise;
    const { code, stderr } = await asking.ended;
    expect(stderr).toContain('the app ended before you approved it');
    expect(code).toBe(4);
    expect(home.brokers()).toEqual([]);
  },
);

it('a window whose page crashed is reported, and opens again on request', async () => {
  await onlyPage(await openApp(newHome()));
  double.pressed = 1;
  double.windows[0]?.webContents.emit('render-process-gone');
  await until('it was said', () => double.messages.length === 1);
  expect([double.messages, double.windows]).toEqual([['A window of Keyturn stopped working'], []]);
});

it('the app notes the command that starts it', async () => {
  const home = newHome();
  await startInDouble(home, ['--hidden']);
  const file = appCommandFile(home.paths);
  const script = process.argv[1] ?? '';
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual([process.execPath, path.resolve(script)]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

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

it('says so at its start, and keeps secrets in a file instead', async () => {
  // The home's environment names no session bus.
  const home = newHome({ env: { KEYTURN_VAULT: 'keychain', KEYTURN_VAULT_KEY: 'keychain' } });
  const opened = await openApp(home);
  const page = await onlyPage(opened);
  await page.getByText('No keychain was found.').waitFor();
  await iconShows(opened, 'trouble');
  await lookAt(page);
  await page.getByRole('button', { name: 'Keep secrets in a file' }).click();
  await opened.gone();
  const { relaunched } = double;
  expect(relaunched).toEqual([]);

  const again = await openApp(home, relaunched);
  const next = await onlyPage(again);
  await next.getByText('Keyturn has no passphrase yet.').waitFor();
  await lookAt(next);
  await next.getByRole('button', { name: 'Choose a passphrase' }).click();
  await next.getByLabel('Passphrase', { exact: true }).fill('open barley');
  await next.getByLabel('Repeat').fill('open barley');
  await next.getByRole('dialog').getByRole('button', { name: 'Choose a passphrase' }).click();
  await next.getByText('Keyturn is unlocked.').waitFor();
  expect(await home.json('status')).toMatchObject({ vault: 'sealed-file', vaultState: { state: 'open' } });
});

it('continues without an icon, and shows its window in a hidden start too', async () => {
  const home = newHome();
  await startInDouble(home, ['--hidden'], { trayFails: true });
  await until('the window', () => double.windows[0]?.isVisible());
  expect(double).toMatchObject({ exitCode: undefined, errors: [] });
});

it.each(['fails', 'never'] as const)(
  'asks on its card where a notification %s',
  async (showsNotifications) => {
    const home = newHome();
    await startInDouble(home, ['--hidden'], { showsNotifications });
    const asking = home.start(['app', 'allow', 'cli', 'https://notes.example/mcp']);
    const card = await until('the card', () => double.windows.find((window) => window.isVisible()));
    const page = await card.webContents.page;
    await deny({ page, id: page.url().split('#card/')[1] ?? '' });
    expect(await asking.ended).toMatchObject({ code: 4 });
    const log = readFileSync(path.join(home.paths.state, 'broker.log'), 'utf8');
    expect(log).not.toMatch(/app: \w*Error/);
  },
);

it('takes no press in a window that the desktop doesn’t bring to the front', async () => {
  const home = newHome();
  await startInDouble(home, [], { focus: 'refused' });
  const page = await until('the page', () => double.windows[0]?.webContents.page);
  await until('it is seen', () => double.windows[0]?.isVisible());
  await lookAt(page);
  const copied = await askByPress(page, () => page.keyboard.press('Shift'), 'text.copy', { text: 'x' });
  expect(copied).toMatchObject({ refusal: { message: expect.stringContaining('not in front') as string } });
});
