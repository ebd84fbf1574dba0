/** Homes that other programs, mounts and mistakes bend: nothing hangs, nothing is an internal error, reset ends them. */
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { type Desk, newDesk } from './desk.ts';

const pipe = (file: string): Buffer => execFileSync('mkfifo', ['-m', '600', file]);

const bends: Record<string, (desk: Desk) => void> = {
  'pipes in place of the settings': ({ config }) => pipe(path.join(config, 'settings.json')),
  'pipes in place of the log': ({ state }) => pipe(path.join(state, 'audit.jsonl')),
  'a folder in place of the owner’s key': ({ config }) => mkdirSync(path.join(config, 'owner.key')),
  'a link to itself in place of the settings': ({ config }) =>
    symlinkSync('settings.json', path.join(config, 'settings.json')),
  'a file in place of the state folder': ({ state }) => {
    rmSync(state, { recursive: true });
    writeFileSync(state, '');
  },
};

test.each(Object.entries(bends))('no command hangs or fails inside with %s', async (_what, bend) => {
  const desk = newDesk();
  for (const folder of [desk.state, desk.config]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const folder of [desk.state, desk.config]) chmodSync(folder, 0o700);
  bend(desk);
  const said: string[] = [];
  for (const command of ['sign-in', 'doctor', 'audit export', 'setup check', 'broker stop', 'reset --yes']) {
    const { code, stderr } = await desk.keyturn(...command.split(' '));
    if (code === 1 || code === null || stderr.includes('internal error')) said.push(`${command}: ${stderr}`);
  }
  expect(said).toEqual([]);
});

test('doctor finds a home that cannot be made', async () => {
  const desk = newDesk();
  writeFileSync(path.join(desk.folder, 'file'), '');
  const { code, stdout } = await desk.keyturnIn({ HOME: path.join(desk.folder, 'file') }, 'doctor');
  expect({ code, stdout }).toMatchObject({ code: 9, stdout: expect.stringContaining("can't be made") });
  expect(existsSync(desk.state)).toBe(false);
});
