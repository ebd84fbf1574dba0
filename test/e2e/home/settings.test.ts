/** `keyturn settings` against a running broker. */
import { statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { homeInWorld, newHome } from '../../support/home.ts';

describe('the settings', () => {
  it('the settings are shown, changed and unset; each change is a row of the audit log, without its value', async () => {
    const home = newHome();
    expect(await home.ok(['settings'])).toMatch(/\nlogLevel +info +info +default\n/);
    expect(await home.keyturn(['settings', 'set', 'logLevel', 'debug'])).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });
    expect(await home.ok(['settings', 'get', 'logLevel'])).toBe('debug\n');
    const later = await home.keyturn(['settings', 'set', 'httpsProxy', 'http://me:hunter2@proxy.example']);
    expect(later).toMatchObject({ code: 0, stdout: '' });
    expect(later.stderr).toContain("takes effect at the broker's next start");
    const status = await home.ok(['status']);
    expect(status).toContain(`log        ${path.join(home.paths.state, 'broker.log')}, level debug`);
    expect(status).toContain('setting    httpsProxy = http://me:***@proxy.example/');
    expect(statSync(path.join(home.paths.state, 'broker.log')).mode & 0o777).toBe(0o600);
    await home.ok(['settings', 'unset', 'httpsProxy']);
    expect(await home.ok(['settings', 'get', 'httpsProxy'])).toBe('');
    const rows = await home.ok(['audit', 'log']);
    expect(rows).toContain('logLevel set');
    expect(rows).toContain('httpsProxy unset');
    expect(rows).not.toContain('hunter2');
  });

  it('the settings keep the key of a sealed file while it holds something', async () => {
    const home = newHome({ env: { KEYTURN_VAULT: 'sealed-file' } });
    await home.ok(['unlock', '--passphrase-stdin'], { stdin: 'correct horse battery\n' });
    await home.ok(['app', 'allow', 'cli', 'https://server.example/mcp']);
    const run = await home.keyturn(['settings', 'set', 'vaultKey', 'keychain']);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain('reason: conflict');
    expect(run.stderr).toContain('hint: `keyturn reset` ends this home');
    expect(await home.ok(['settings', 'get', 'vaultKey'])).toContain('passphrase');
  });

  it('a mistyped setting gets a guess at its name', async () => {
    const home = newHome();
    for (const args of [
      ['get', 'loglevel'],
      ['set', 'loglevel', 'debug'],
    ]) {
      const run = await home.keyturn(['settings', ...args]);
      expect(run).toMatchObject({ code: 2, stdout: '' });
      expect(run.stderr).toContain('hint: Did you mean logLevel? `keyturn settings` lists them.');
    }
  });

  it('the settings keep the vault while grants rest in it', async () => {
    const { home, resource } = await homeInWorld();
    await home.ok(['login', resource]);
    const run = await home.keyturn(['settings', 'set', 'vault', 'keychain']);
    expect(run).toMatchObject({ code: 2, stdout: '' });
    expect(run.stderr).toContain("The vault can't be changed: grants rest in it");
    expect(run.stderr).toContain('keyturn logout');
    await home.ok(['logout', resource]);
    expect(await home.keyturn(['settings', 'set', 'vault', 'keychain'])).toMatchObject({ code: 0 });
  });
});
