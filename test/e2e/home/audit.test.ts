/** `keyturn audit`: what it shows, and what it does with lines that aren't Keyturn's. */
import { appendFileSync, mkdirSync, renameSync, rmdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { homeInWorld } from '../../support/home.ts';
import { allow, signIn, startBroker, stopBroker, tokenAt } from '../../support/homes/owner-acts.ts';

describe('keyturn audit', () => {
  it('keyturn audit shows who got what, never a token, says how many lines it skips, and exports the log without a broker', async () => {
    const { home, resource } = await homeInWorld({ vault: 'keychain' });
    await startBroker(home);
    await allow(home, 'cli', resource);
    await signIn(home, resource);
    const token = await tokenAt(home, resource);
    appendFileSync(path.join(home.paths.state, 'audit.jsonl'), '{"time":17\n');

    const { stdout: shown, stderr } = await home.keyturn(['audit', 'log']);
    expect(stderr).toBe("keyturn: skipped 1 line of the log that can't be read\n");
    expect(shown).toMatch(/permission\s+allow\s+cli/);
    expect(shown).toMatch(/token\s+ok\s+cli/);
    await stopBroker(home);
    const { stdout: exported, stderr: said } = await home.keyturn(['audit', 'export', '--format', 'csv']);
    expect(said).toBe(stderr);
    expect(exported).toMatch(/^"time","event","outcome","client"/);
    expect(exported).toContain(resource);
    expect(shown + exported).not.toContain(token);
    expect(home.brokers()).toEqual([]);
  });

  it('keyturn audit has every row of a time when the log could not be written; status and doctor told of it', async () => {
    const { home, resource } = await homeInWorld({ vault: 'memory' });
    await startBroker(home);
    const file = path.join(home.paths.state, 'audit.jsonl');
    const aside = `${file}.aside`;
    await home.ok(['pause']);
    renameSync(file, aside);
    mkdirSync(file, { mode: 0o700 });
    await home.ok(['resume']);
    await allow(home, 'cli', resource);
    await signIn(home, resource);
    await tokenAt(home, resource);
    expect(await home.ok(['status'])).toMatch(
      /AUDIT LOG {2}\d rows wait in memory: .*audit\.jsonl.*\n +hint: /,
    );
    const { stdout } = await home.keyturn(['doctor', '--json']);
    const failing = { kind: 'audit.failing', what: expect.stringContaining('rows wait in memory: ') };
    expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining(failing));

    rmdirSync(file);
    renameSync(aside, file);
    const shown = await home.ok(['audit', 'log']);
    expect(shown).toMatch(/paused[^]*resumed[^]*allow +cli[^]*login[^]*token +ok/);
    expect(await home.ok(['status'])).not.toContain('AUDIT LOG');
  });
});
