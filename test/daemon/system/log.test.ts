/** The broker's log: levels, files that stay small and private, and a broker that goes on without it. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { FileLog } from '../../../src/daemon/system/log.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = temporaryFolder();
  file = path.join(folder, 'broker.log');
});

const then = (): number => Date.UTC(2026, 0, 2, 3, 4, 5);

describe('a log in a file', () => {
  it('keeps three full files of 1 MiB and drops the oldest', () => {
    const log = new FileLog(file, then);
    const line = 'x'.repeat(256 * 1024);
    for (let n = 0; n < 20; n += 1) log.write(`${n} ${line}`);
    expect(readdirSync(folder).toSorted()).toEqual([
      'broker.log',
      'broker.log.1',
      'broker.log.2',
      'broker.log.3',
    ]);
    const numbers = ['.3', '.2', '.1', ''].flatMap((end) =>
      [...readFileSync(`${file}${end}`, 'utf8').matchAll(/info (\d+) /g)].map(([, n]) => Number(n)),
    );
    expect(numbers).toEqual([9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    for (const name of readdirSync(folder)) {
      const { size, mode } = statSync(path.join(folder, name));
      expect(size).toBeLessThanOrEqual(1024 * 1024);
      expect(mode & 0o777).toBe(0o600);
    }
  });

  it('goes on if it can’t be written, and later says how many lines are missing', () => {
    mkdirSync(file);
    const log = new FileLog(file, then);
    log.write('lost');
    log.write('lost too');
    expect(log.isOk).toBe(false);
    rmSync(file, { recursive: true });
    log.write('kept');
    expect(log.isOk).toBe(true);
    expect(readFileSync(file, 'utf8')).toMatch(/ warn 2 lines could not be written\n.* info kept\n$/);
  });

  it('broker.log: follows no symbolic link', () => {
    const elsewhere = path.join(folder, 'elsewhere');
    symlinkSync(elsewhere, file);
    const log = new FileLog(file, then);
    log.write('never');
    expect(log.isOk).toBe(false);
    expect(existsSync(elsewhere)).toBe(false);
  });
});
