/** A home's folders, id and owner key: made once, never repaired in silence; and one broker at a time. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { homeFile, openHome, ownerKeyFile, prepareFolders } from '../../src/daemon/home.ts';
import { takeLock } from '../../src/daemon/single-instance.ts';
import { type HomePaths, homePaths } from '../../src/paths.ts';

let folder: string;
let paths: HomePaths;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'kt-'));
  paths = homePaths({ KEYTURN_HOME: folder });
  prepareFolders(paths);
});

afterEach(() => rmSync(folder, { recursive: true }));

describe('a home', () => {
  it('gets folders and files that are the user’s alone', async () => {
    await openHome(paths);
    for (const name of [paths.config, paths.state, paths.run])
      expect(statSync(name).mode & 0o777).toBe(0o700);
    for (const file of [homeFile(paths), ownerKeyFile(paths)])
      expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('is the same home the next time', async () => {
    const made = await openHome(paths);
    expect(made).toMatchObject({ isNew: true, hasMaster: false });
    await made.masterWritten();
    const again = await openHome(paths);
    expect(again).toMatchObject({ isNew: false, hasMaster: true, homeId: made.homeId });
    expect(again.ownerKey.equals(made.ownerKey)).toBe(true);
  });

  it.each([
    ['no JSON', '{"version":1,'],
    ['another version', '{"version":2,"homeId":"AAAAAAAAAAAAAAAAAAAAAA","hasMaster":false}'],
    ['nothing', ''],
  ])('with %s in home.json is refused, and nothing is written', async (_what, text) => {
    writeFileSync(homeFile(paths), text);
    await expect(openHome(paths)).rejects.toMatchObject({ reason: 'file_unreadable' });
    expect(readFileSync(homeFile(paths), 'utf8')).toBe(text);
    expect(readdirSync(paths.config)).toEqual([]);
  });

  it('never shows a piece of a damaged key', async () => {
    await openHome(paths);
    const damaged = readFileSync(ownerKeyFile(paths), 'utf8').slice(0, 60);
    writeFileSync(ownerKeyFile(paths), damaged);
    const refusal: unknown = await openHome(paths).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ reason: 'file_unreadable' });
    expect(JSON.stringify(refusal, Object.getOwnPropertyNames(refusal))).not.toContain(damaged.slice(30));
    expect(readFileSync(ownerKeyFile(paths), 'utf8')).toBe(damaged);
  });

  it('with a key that others may read is refused with the command that mends it', async () => {
    await openHome(paths);
    chmodSync(ownerKeyFile(paths), 0o640);
    await expect(openHome(paths)).rejects.toMatchObject({
      reason: 'socket_unsafe',
      hint: expect.stringContaining(`chmod 600 ${ownerKeyFile(paths)}`),
    });
  });

  it('in a folder that others may enter, or behind a symbolic link, is refused', () => {
    chmodSync(paths.state, 0o755);
    expect(() => prepareFolders(paths)).toThrow(expect.objectContaining({ reason: 'socket_unsafe' }));
    chmodSync(paths.state, 0o700);
    rmSync(paths.run, { recursive: true });
    mkdirSync(path.join(folder, 'elsewhere'), { mode: 0o700 });
    symlinkSync(path.join(folder, 'elsewhere'), paths.run);
    expect(() => prepareFolders(paths)).toThrow(expect.objectContaining({ reason: 'socket_unsafe' }));
  });
});

describe('the lock', () => {
  it('is one broker’s, until that gives it back', async () => {
    const unlock = await takeLock(paths.state);
    await expect(takeLock(paths.state)).rejects.toMatchObject({ reason: 'broker_running' });
    unlock();
    const again = await takeLock(paths.state);
    again();
  });

  it('counts for nothing as a mere file, as a crash leaves it', async () => {
    writeFileSync(path.join(paths.state, 'daemon.lock'), '');
    const unlock = await takeLock(paths.state);
    unlock();
  });
});
