/** `keyturn doctor` on homes that something is wrong with: the built command, real brokers, a real keychain. */
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { homeInWorld } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, startBroker } from '../../support/homes/owner-acts.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe('keyturn doctor --report', () => {
  const seeds = ['annabel', 'anna-desk', 'hush-proxy', 'hush-secret', 'notes-program', 'hush-browser'];

  it('has no secret, no user, no host, no server and no folder', async () => {
    const base = temporaryFolder();
    const { home, world, resource } = await homeInWorld({
      env: {
        KEYTURN_BROWSER: `${base}/annabel/hush-browser`,
        HTTPS_PROXY: 'http://annabel:hush-secret@hush-proxy.example:3128',
        NODE_EXTRA_CA_CERTS: path.join(base, 'annabel.pem'),
        USER: 'annabel',
        LOGNAME: 'annabel',
        HOSTNAME: 'anna-desk',
        SSH_CONNECTION: '192.0.2.7 1 192.0.2.8 22',
        DISPLAY: 'anna-desk:0',
      },
    });
    writeFileSync(path.join(base, 'annabel.pem'), world.ca);
    await startBroker(home);
    await allow(home, 'cli', resource);
    await askBroker(home, 'exception.set', { server: resource, name: 'audience', on: true });
    chmodSync(home.paths.config, 0o750);
    const all = await home.keyturn(['doctor']);
    for (const known of ['annabel', home.paths.config, resource]) expect(all.stdout).toContain(known);
    // What the person reads doesn't hold the proxy's password either.
    expect(all.stdout).not.toContain('hush-secret');

    const { stdout, code } = await home.keyturn(['doctor', '--report']);
    chmodSync(home.paths.config, 0o700);
    expect(code).toBe(9);
    expect(stdout).toContain('folder.unsafe: A folder of the home is open to others');
    expect(stdout).toMatch(/^settings {2}changed: .*httpsProxy/m);
    const folders = [base, home.folder, path.dirname(home.folder), ...readdirSync(path.dirname(home.folder))];
    const names = [...seeds, new URL(resource).host, '192.0.2', ...folders.filter((name) => name !== 'home')];
    expect(names.filter((name) => name.length > 4 && stdout.includes(name))).toEqual([]);
    expect(stdout).not.toMatch(/[/@\\]\w*(?:home|tmp|Users)/);
  });
});
