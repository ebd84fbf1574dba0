/** Starts and ends in which something else happens at the same moment. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { app, double } from '../support/electron/electron-double.ts';
import { newHome, processFacts, until } from '../support/home.ts';
import { cardPage } from './command-card.ts';
import { startInDouble } from './rig.ts';

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
    readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8')
      .split(' ')
      .map(Number)
      .find((each) => each > 0 && processFacts(each).argv.some((word) => word.includes('keychain-worker'))),
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
