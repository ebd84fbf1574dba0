/** The file of certificate authorities that the settings name, which another program may have written. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { readExtraAuthorities } from '../../../src/daemon/system/authorities.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

it.each<[string, (file: string) => void]>([
  ['a pipe that nobody writes to', (file) => void execFileSync('mkfifo', [file])],
  ['a device without an end', (file) => symlinkSync('/dev/zero', file)],
  ['a folder', (file) => mkdirSync(file)],
  ['a file of 17 MiB', (file) => (writeFileSync(file, ''), truncateSync(file, 17 * 1024 * 1024))],
])('settings.json: the broker waits for no authorities in %s', (_what, make) => {
  const file = path.join(temporaryFolder(), 'authorities.pem');
  make(file);
  expect(() => readExtraAuthorities(file)).toThrow(expect.objectContaining({ reason: 'file_unreadable' }));
});
