/** Key files: what is kept, what is refused, and with which words. */
import { randomBytes } from 'node:crypto';
import { chmodSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { appKeyFile, readAppKeyFile, writeAppKeyFile } from '../../src/client/app-key-file.ts';
import type { Identity } from '../../src/ipc/wire/handshake-messages.ts';
import { homeId, temporaryHome } from '../ipc/rig.ts';

function newIdentity(): Identity {
  return { appId: 'abc', key: randomBytes(32).toString('base64url'), brokerId: homeId };
}

describe('a key file', () => {
  test('is written once, 0600, and read back', () => {
    const file = appKeyFile(temporaryHome(), 'editor');
    const identity = newIdentity();
    writeAppKeyFile(file, identity);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700);
    expect(readAppKeyFile(file)).toEqual(identity);
    expect(() => writeAppKeyFile(file, newIdentity())).toThrow(
      expect.objectContaining({ reason: 'conflict' }),
    );
    expect(readAppKeyFile(file)).toEqual(identity);
  });

  test.each([0o640, 0o604, 0o666, 0o700])('with mode %o is refused with how to fix it', (mode) => {
    const file = appKeyFile(temporaryHome(), 'editor');
    writeAppKeyFile(file, newIdentity());
    chmodSync(file, mode);
    expect(() => readAppKeyFile(file)).toThrow(
      expect.objectContaining({ reason: 'file_unreadable', hint: expect.stringContaining('chmod 600') }),
    );
  });

  test('is not followed when it is a symbolic link', () => {
    const paths = temporaryHome();
    writeAppKeyFile(appKeyFile(paths, 'real'), newIdentity());
    const link = appKeyFile(paths, 'link');
    symlinkSync(appKeyFile(paths, 'real'), link);
    expect(() => readAppKeyFile(link)).toThrow(
      expect.objectContaining({ reason: 'file_unreadable', hint: expect.stringContaining('no symbolic') }),
    );
  });

  test.each(['../owner', '', 'a/b', '.hidden', 'x'.repeat(65), 'nul\u0000'])('is never named %j', (name) => {
    expect(() => appKeyFile(temporaryHome(), name)).toThrow(
      expect.objectContaining({ reason: 'invalid_request' }),
    );
  });
});
