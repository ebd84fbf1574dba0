/** `keyturn audit` over a real keychain: what it shows, and that a change shows. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { homeInWorld } from '../../support/home.ts';

const logOf = (folder: string): string => path.join(folder, 'state', 'audit.jsonl');

describe('keyturn audit', () => {
  it('keyturn audit verifies an untouched log, and names the row that somebody changed', async () => {
    const { home, resource } = await homeInWorld({ vault: 'keychain' });
    await home.ok(['allow', 'cli', resource]);
    await home.ok(['token', resource]);
    expect(await home.ok(['audit', 'verify'])).toMatch(/^\d+ rows, unchanged/);
    const file = logOf(home.folder);
    const whole = readFileSync(file, 'utf8');
    writeFileSync(file, whole.replace('"event":"login"', '"event":"logon"'));
    const run = await home.keyturn(['audit', 'verify']);
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('reason: audit_broken');
  });

  it('keyturn audit shows who got what, never a token, and exports the log without a broker', async () => {
    const { home, resource } = await homeInWorld({ vault: 'keychain' });
    await home.ok(['allow', 'cli', resource]);
    const token = (await home.ok(['token', resource])).trim();
    const shown = await home.ok(['audit', 'tail']);
    expect(shown).toMatch(/permission\s+allow\s+cli/);
    expect(shown).toMatch(/token\s+ok\s+cli/);
    await home.ok(['daemon', '--stop']);
    const exported = await home.ok(['audit', 'export', '--format', 'csv']);
    expect(exported).toMatch(/^"sequence","time","event","outcome","client"/);
    expect(exported).toContain(resource);
    expect(shown + exported).not.toContain(token);
    expect(home.brokers()).toEqual([]);
  });

  it('keyturn audit says that the memory vault seals nothing', async () => {
    const { home, resource } = await homeInWorld({ vault: 'memory' });
    await home.ok(['allow', 'cli', resource]);
    expect(await home.keyturn(['audit', 'verify'])).toMatchObject({ code: 7 });
  });
});
