/** `keyturn doctor` on homes that something is wrong with: the built command, real brokers, a real keychain. */
import { chmodSync, existsSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { homeInWorld, type Run, type TestHome } from '../../support/home.ts';
import { askBroker } from '../../support/homes/ask-broker.ts';
import { allow, signIn, startBroker, stopBroker } from '../../support/homes/owner-acts.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

interface Finding {
  readonly level: 'problem' | 'warning' | 'note';
  readonly kind: string;
  readonly what: string;
  readonly mend: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

async function doctor(home: TestHome, env: Environment = {}): Promise<{ found: Finding[]; run: Run }> {
  const run = await home.keyturn(['doctor', '--json'], { env });
  return { found: JSON.parse(run.stdout) as Finding[], run };
}

const kindsOf = (found: readonly Finding[]): string[] => found.map(({ kind }) => kind);

describe('keyturn doctor', () => {
  // On a disk: the tests' own temporary folder may lie in memory.
  beforeAll(() => void vi.stubEnv('TMPDIR', '/var/tmp'));
  afterAll(() => void vi.unstubAllEnvs());

  it('checks the file of further authorities, and the clock', async () => {
    const { home, world } = await homeInWorld();
    await startBroker(home);
    await stopBroker(home);
    const inTwoDays = Date.now() / 1000 + 2 * 24 * 60 * 60;
    utimesSync(path.join(home.paths.config, 'owner.key'), inTwoDays, inTwoDays);
    const ca = path.join(temporaryFolder(), 'authorities.pem');
    writeFileSync(ca, `${world.ca}\n-----BEGIN CERTIFICATE-----\nbm90aGluZw==\n-----END CERTIFICATE-----\n`);
    const settings = path.join(home.paths.config, 'settings.json');
    await home.ok(['settings', 'set', 'extraAuthorities', ca]);
    await stopBroker(home);
    expect(existsSync(settings)).toBe(true);
    const { found } = await doctor(home);
    expect(kindsOf(found)).toEqual([
      'authorities.invalid',
      'clock.behind',
      'authorities.ignored',
      'broker.absent',
    ]);
  });

  it('finds a registration that no sign-in uses any more', async () => {
    const { home, world, resource } = await homeInWorld();
    await startBroker(home);
    await signIn(home, resource);
    await signIn(home, resource, { newClient: true });
    const { found } = await doctor(home);
    const stale = found.find(({ kind }) => kind === 'oauthClient.replaced');
    expect(stale?.mend).toMatch(/^keyturn oauth-client remove \S+ --client-id[ =]\S+$/);
    await home.ok(stale?.mend.replaceAll('"', '').split(' ').slice(1) ?? []);
    // Only that client could revoke its refresh token.
    expect(world.counts().authorizationServer.revocations).toBe(1);
    expect(kindsOf((await doctor(home)).found)).not.toContain('oauthClient.replaced');
  });
});

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
