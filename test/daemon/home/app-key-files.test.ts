/** The key file of an unpaired program is removed, and no other file. */
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { removeAppKeyFiles } from '../../../src/daemon/home/app-key-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

it('removes the key of this program and home, and keeps every other file', async () => {
  const config = temporaryFolder();
  const folder = path.join(config, 'apps');
  const removed = { appId: 'editor', brokerId: 'home' };
  await removeAppKeyFiles({ config }, removed);
  expect(existsSync(folder)).toBe(false);
  mkdirSync(folder);
  const write = (name: string, content: object | string): void =>
    writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content), {
      mode: 0o600,
    });
  write('editor.key', { ...removed, key: 'k' });
  write('other.key', { ...removed, appId: 'other', key: 'k' });
  write('elsewhere.key', { ...removed, brokerId: 'another home', key: 'k' });
  write('notes.txt', removed);
  write('broken.key', '{');
  const target = path.join(config, 'target');
  writeFileSync(target, JSON.stringify(removed), { mode: 0o600 });
  symlinkSync(target, path.join(folder, 'link.key'));
  await removeAppKeyFiles({ config }, removed);
  expect(readdirSync(folder).toSorted()).toEqual([
    'broken.key',
    'elsewhere.key',
    'link.key',
    'notes.txt',
    'other.key',
  ]);
  expect(existsSync(target)).toBe(true);
});
