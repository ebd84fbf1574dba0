/** A home's folders, id and owner key: made once, never repaired in silence; and one broker at a time. */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { checkFiles, openHome, prepareFolders } from '../../../src/daemon/home/home.ts';
import { takeLock } from '../../../src/daemon/home/single-instance.ts';
import { type HomePaths, homePaths, ownerKeyFile } from '../../../src/base/paths.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let paths: HomePaths;

beforeEach(() => {
  folder = temporaryFolder();
  paths = homePaths({ KEYTURN_HOME: folder });
  prepareFolders(paths);
});

describe('a home', () => {
  it('gets folders and files that are the user’s alone', async () => {
    await openHome(paths);
    for (const name of [paths.config, paths.state]) expect(statSync(name).mode & 0o777).toBe(0o700);
    expect(statSync(ownerKeyFile(paths)).mode & 0o777).toBe(0o600);
  });

  it('whose owner.key is lost gets a new one for the home of its document', async () => {
    const place = '{"version":1,"home":"AAAAAAAAAAAAAAAAAAAAAA","vault":"keychain","records":[\n],';
    const file = path.join(paths.state, 'document.json');
    writeFileSync(file, place, { mode: 0o600 });
    expect(await openHome(paths)).toMatchObject({
      isNew: false,
      homeId: 'A'.repeat(22),
      document: { vault: 'keychain' },
    });
    rmSync(ownerKeyFile(paths));
    for (const [text, words] of [
      ['{"version":2,"records":[\n', 'its format is 2, and this Keyturn knows 1'],
      ['{"version":1,', 'it is not JSON'],
      ['', 'it is not JSON'],
      [place.replace('AA', '..'), '"home": '],
    ] as const) {
      writeFileSync(file, text);
      const message = expect.stringContaining(words);
      await expect(openHome(paths)).rejects.toMatchObject({ reason: 'file_unreadable', message });
      expect(readdirSync(paths.config)).toEqual([]);
    }
  });

  it.each(['{"appId":', '', '{"appId":"owner","key":"","brokerId":""}', '{"appId":"owner","key":"a-Secret-'])(
    'with a damaged owner.key (%s) is refused, shows none of it, and writes nothing',
    async (text) => {
      writeFileSync(ownerKeyFile(paths), text, { mode: 0o600 });
      const refusal: unknown = await openHome(paths).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ reason: 'file_unreadable' });
      expect(JSON.stringify(refusal, Object.getOwnPropertyNames(refusal))).not.toContain('Secret');
      expect(readFileSync(ownerKeyFile(paths), 'utf8')).toBe(text);
    },
  );

  it('in a folder that others may enter, or behind a symbolic link, is refused', () => {
    chmodSync(paths.state, 0o755);
    expect(() => prepareFolders(paths)).toThrow(expect.objectContaining({ reason: 'socket_unsafe' }));
    chmodSync(paths.state, 0o700);
    rmSync(paths.config, { recursive: true });
    mkdirSync(path.join(folder, 'elsewhere'), { mode: 0o700 });
    symlinkSync(path.join(folder, 'elsewhere'), paths.config);
    expect(() => prepareFolders(paths)).toThrow(expect.objectContaining({ reason: 'socket_unsafe' }));
  });
});

describe('the files of a home', () => {
  const files: readonly [string, 'config' | 'state'][] = [
    ['settings.json', 'config'],
    ['audit.jsonl', 'state'],
    ['broker.log', 'state'],
  ];

  it.each(files)(
    '(%s) prevent the broker from starting if others could read or change them',
    async (name, at) => {
      const file = path.join(paths[at], name);
      writeFileSync(file, 'mine', { mode: 0o600 });
      await checkFiles(paths);
      chmodSync(file, 0o640);
      await expect(checkFiles(paths)).rejects.toMatchObject({
        reason: 'file_unreadable',
        hint: expect.stringContaining(`chmod 600 ${file}`),
      });
      expect(statSync(file).mode & 0o777).toBe(0o640);
      rmSync(file);
      writeFileSync(path.join(folder, 'elsewhere'), 'mine', { mode: 0o600 });
      symlinkSync(path.join(folder, 'elsewhere'), file);
      await expect(checkFiles(paths)).rejects.toMatchObject({ message: expect.stringContaining('symbolic') });
    },
  );

  it.runIf(process.getuid?.() === 0).each(files)(
    '(%s) that belong to another user prevent the broker from starting, too',
    async (name, at) => {
      const file = path.join(paths[at], name);
      writeFileSync(file, 'theirs', { mode: 0o600 });
      chownSync(file, 65534, 65534);
      await expect(checkFiles(paths)).rejects.toMatchObject({
        message: expect.stringContaining('belongs to user 65534'),
      });
    },
  );
});

describe('the lock', () => {
  it.runIf(process.platform === 'linux')('of another program is said to be that program’s', async () => {
    const file = path.join(paths.state, 'broker.lock');
    const holder = spawn('flock', ['--no-fork', file, 'sh', '-c', 'echo locked; exec sleep 600']);
    onTestFinished(() => void holder.kill());
    await once(holder.stdout, 'data');
    await expect(takeLock(paths.state)).rejects.toMatchObject({
      message: expect.stringMatching(`: "(sh|sleep)", process ${holder.pid}\\.$`),
      hint: expect.stringContaining(`kill ${holder.pid}`),
    });
  });

  it('broker.lock: is not held by a mere file that a crash left', async () => {
    writeFileSync(path.join(paths.state, 'broker.lock'), '');
    const unlock = await takeLock(paths.state);
    unlock();
  });
});
