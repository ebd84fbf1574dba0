/** Where the passphrase of a machine without a user comes from, and what is refused. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { passphraseFrom } from '../../../src/daemon/vault/key-source.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const passphrase = 'correct horse battery';
let folder: string;
let file: `file:/${string}`;

function write(name: string, text: string, mode = 0o600): `file:/${string}` {
  const at = path.join(folder, name);
  writeFileSync(at, text);
  chmodSync(at, mode);
  return `file:/${at.slice(1)}`;
}

beforeEach(() => {
  folder = temporaryFolder();
  file = write('key', `${passphrase}\n`);
});

const unreadable = { reason: 'file_unreadable' };

describe('the passphrase of an unattended vault', () => {
  it('is a file without its last line break, through a link too', async () => {
    expect(await passphraseFrom(file, {})).toBe(passphrase);
    symlinkSync(path.join(folder, 'key'), path.join(folder, 'link'));
    expect(await passphraseFrom(`file:/${folder.slice(1)}/link`, {})).toBe(passphrase);
    expect(await passphraseFrom(write('given', passphrase, 0o440), {})).toBe(passphrase);
  });

  it.each([0o604, 0o620, 0o640 | 0o002])('is not taken from a file with mode %o', async (mode) => {
    const open = write('open', passphrase, mode);
    await expect(passphraseFrom(open, {})).rejects.toMatchObject({
      ...unreadable,
      message: expect.stringContaining('others'),
    });
  });

  it.runIf(process.getuid?.() === 0)('is not taken from a file of another user', async () => {
    const { chownSync } = await import('node:fs');
    chownSync(path.join(folder, 'key'), 65534, 65534);
    await expect(passphraseFrom(file, {})).rejects.toMatchObject(unreadable);
  });

  it('is not taken from what is absent, no file, or too long', async () => {
    mkdirSync(path.join(folder, 'folder'), { mode: 0o700 });
    // To open a pipe that nobody writes to would wait without end.
    execFileSync('mkfifo', ['-m', '600', path.join(folder, 'pipe')]);
    for (const place of [
      `file:/${folder.slice(1)}/none`,
      `file:/${folder.slice(1)}/folder`,
      `file:/${folder.slice(1)}/pipe`,
      write('long', 'x'.repeat(5000)),
    ] as const)
      await expect(passphraseFrom(place, {})).rejects.toMatchObject(unreadable);
  });

  it('is a credential of systemd, and refused where systemd gave none', async () => {
    expect(await passphraseFrom('credential:key', { CREDENTIALS_DIRECTORY: folder })).toBe(passphrase);
    await expect(passphraseFrom('credential:key', {})).rejects.toMatchObject({
      ...unreadable,
      hint: expect.stringContaining('LoadCredential'),
    });
  });

  it('is what a command prints, without a shell; its errors are not quoted', async () => {
    const env = { PATH: process.env['PATH'] };
    expect(await passphraseFrom(`command:head -n 1 ${folder}/key`, env)).toBe(passphrase);
    const shell = await passphraseFrom('command:echo $(id)', env);
    expect(shell).toBe('$(id)');
    const told = await passphraseFrom(`command:cat ${folder}/key ${folder}/none`, env).catch(
      (error: unknown) => error,
    );
    expect(told).toMatchObject({ reason: 'vault_unavailable' });
    expect(JSON.stringify(told) + String(told)).not.toContain(passphrase);
    await expect(passphraseFrom(`command:${folder}/none`, env)).rejects.toMatchObject({
      reason: 'vault_unavailable',
    });
  });
});
