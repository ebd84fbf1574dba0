/** The file of certificate authorities that the settings name, which another program may have written. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { authoritiesVariable, readExtraAuthorities } from '../../../src/daemon/system/authorities.ts';
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

it('names the authorities in force to a browser command, and unsets others', () => {
  const file = path.join(temporaryFolder(), 'authorities.pem');
  writeFileSync(file, 'one');
  const extraAuthorities = readExtraAuthorities(file);
  expect(authoritiesVariable(file, { extraAuthorities })).toEqual({ NODE_EXTRA_CA_CERTS: file });
  const unset = { NODE_EXTRA_CA_CERTS: undefined };
  expect(authoritiesVariable(file, { extraAuthorities: undefined })).toStrictEqual(unset);
  writeFileSync(file, 'another');
  expect(authoritiesVariable(file, { extraAuthorities })).toStrictEqual(unset);
});
