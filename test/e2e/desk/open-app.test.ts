/** A command that is refused while the app is closed, at a terminal: it offers to start the app that ran here last. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { appCommandFile } from '../../../src/base/paths.ts';
import { builtBin } from '../../support/built.ts';
import { openDesk } from '../../support/homes/desk-home.ts';
import { newHome, until, type TestHome } from '../../support/home.ts';
import { inTerminal } from '../../support/processes/terminal.ts';

const resource = 'https://server.invalid/mcp';

/** What a terminal shows of `keyturn app allow`, in a desktop session or without one. */
async function allowAtTerminal(home: TestHome, typed: string, DISPLAY = ':0'): Promise<string> {
  const command = [process.execPath, builtBin, 'app', 'allow', 'cli', resource];
  const terminal = inTerminal(home, command, { WAYLAND_DISPLAY: '', DISPLAY });
  terminal.type(`${typed}\n`);
  expect(await terminal.ended).toEqual([4, null]);
  return terminal.shown();
}

it('desktop/command.json: a refused command starts the app after an approval only', async () => {
  const home = newHome({ vault: 'keychain' });
  const { owner, stop } = await openDesk(home);
  await owner.call('permission.set', { app: 'cli', resource: `${resource}/other`, decision: 'allow' });
  await stop();
  const file = appCommandFile(home.paths);
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const sign = path.join(home.folder, 'started');
  const app = path.join(home.folder, 'app.mjs');
  writeFileSync(app, `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(sign)}, '');`);
  const note = (command: readonly string[]) => writeFileSync(file, JSON.stringify(command), { mode: 0o600 });
  const question = /Open the app of this home now, by/;

  note(['app.mjs']);
  expect(await allowAtTerminal(home, 'y')).not.toMatch(question);
  note([process.execPath, app]);
  expect(await allowAtTerminal(home, 'y', '')).not.toMatch(question);
  const refused = await allowAtTerminal(home, 'n');
  expect(refused).toMatch(/app isn’t running[^]*reason: not_permitted/);
  expect(refused).toContain(`now, by ${process.execPath} ${app}? [y/N]`);
  expect(existsSync(sign)).toBe(false);
  expect(await allowAtTerminal(home, 'y')).toMatch(/the app starts/);
  await until('the app was started', () => existsSync(sign));
});
