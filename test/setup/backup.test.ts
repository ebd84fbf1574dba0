/** The sealed backups of keyturn setup. */
import { createSecretKey, randomBytes } from 'node:crypto';
import fs, { readFileSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { backupsIn, keepBackup, openBackup } from '../../src/setup/backup.ts';
import { type BackupKeys, backupKeys } from '../../src/daemon/vault/backup-keys.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const secret = 'aSecretOfABackup-1618';
const entry = { way: ['mcpServers', 'notes'], before: secret, after: 'b' };
const files = [{ file: '/a', before: 'AA==', after: 'cc', format: 'json' as const, entries: [entry] }];
const backup = { keys: [], files };
const keysOf = (homeId: string, root = randomBytes(32)): BackupKeys =>
  backupKeys(() => Promise.resolve(createSecretKey(root)), homeId);

it('setup-N.sealed: a backup opens whole, and only by the vault that sealed it', async () => {
  const folder = temporaryFolder();
  const root = randomBytes(32);
  const keys = keysOf('home', root);
  const open = async (sealedKey: string): Promise<string> => (await keys.open(sealedKey)).key;
  const file = await keepBackup(folder, backup, await keys.seal());
  await keepBackup(folder, backup, await keys.seal());
  expect(await backupsIn(folder)).toEqual([file, file.replace('setup-1', 'setup-2')]);
  expect(await openBackup(file, open)).toEqual(backup);
  for (const other of [keysOf('another', root), keysOf('home')]) {
    const elsewhere = openBackup(file, async (sealedKey) => (await other.open(sealedKey)).key);
    await expect(elsewhere).rejects.toMatchObject({ reason: 'vault_unreadable' });
  }
  const text = readFileSync(file, 'utf8');
  expect(text).not.toContain(secret);
  const { sealed } = JSON.parse(text) as { sealed: string };
  const bent = `${sealed.startsWith('A') ? 'B' : 'A'}${sealed.slice(1)}`;
  for (const damaged of [text.replace(sealed, bent), text.slice(0, -9), '{}']) {
    writeFileSync(file, damaged);
    await expect(openBackup(file, open)).rejects.toMatchObject({ reason: 'file_unreadable' });
  }
});

it('a backup gets its number on a file system without links', async () => {
  const { linkSync } = fs;
  const { link } = fs.promises;
  onTestFinished(() => {
    fs.linkSync = linkSync;
    fs.promises.link = link;
    syncBuiltinESMExports();
  });
  const refused = Object.assign(new Error('link'), { code: 'EACCES' });
  fs.linkSync = () => {
    throw refused;
  };
  fs.promises.link = () => Promise.reject(refused);
  syncBuiltinESMExports();
  const folder = temporaryFolder();
  const file = await keepBackup(folder, backup, await keysOf('home').seal());
  expect(await backupsIn(folder)).toEqual([file]);
  expect(fs.readdirSync(folder)).toEqual(['setup-1.sealed']);
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
});

it('a file with the highest number hides no backup', async () => {
  const folder = temporaryFolder();
  writeFileSync(path.join(folder, 'setup-999999999999999.sealed'), '{}', { mode: 0o600 });
  await expect(keepBackup(folder, backup, await keysOf('home').seal())).rejects.toMatchObject({
    reason: 'file_unreadable',
    hint: expect.stringContaining('move it away'),
  });
  expect(await backupsIn(folder)).toHaveLength(1);
});
