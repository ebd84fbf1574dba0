/** `keyturn audit` over a real keychain: what it shows, and that a change shows. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { homeInWorld } from '../../support/home.ts';
import { allow, signIn, startBroker, stopBroker, tokenAt } from '../../support/homes/owner-acts.ts';

const logOf = (folder: string): string => path.join(folder, 'state', 'audit.jsonl');

describe('keyturn audit', () => {
  it('keyturn audit verifies an untouched log, and names the row that somebody changed; it shows who got what, never a token, and exports the log without a broker', async () => {
    const { home, resource } = await homeInWorld({ vault: 'keychain' });
    await startBroker(home);
    await allow(home, 'cli', resource);
    await signIn(home, resource);
    const token = await tokenAt(home, resource);
    expect(await home.ok(['audit', 'verify'])).toMatch(/^\d+ rows, unchanged/);
    const file = logOf(home.folder);
    const whole = readFileSync(file, 'utf8');
    writeFileSync(file, whole.replace('"event":"login"', '"event":"logon"'));
    const run = await home.keyturn(['audit', 'verify']);
    expect(run).toMatchObject({ code: 5, stdout: '' });
    expect(run.stderr).toContain('reason: audit_broken');
    writeFileSync(file, whole);

    const shown = await home.ok(['audit', 'tail']);
    expect(shown).toMatch(/permission\s+allow\s+cli/);
    expect(shown).toMatch(/token\s+ok\s+cli/);
    await stopBroker(home);
    const exported = await home.ok(['audit', 'export', '--format', 'csv']);
    expect(exported).toMatch(/^"sequence","time","event","outcome","client"/);
    expect(exported).toContain(resource);
    expect(shown + exported).not.toContain(token);
    expect(home.brokers()).toEqual([]);
  });

  it('keyturn audit says that the memory vault seals nothing', async () => {
    const { home, resource } = await homeInWorld({ vault: 'memory' });
    await startBroker(home);
    await allow(home, 'cli', resource);
    expect(await home.keyturn(['audit', 'verify'])).toMatchObject({ code: 7 });
  });
});
