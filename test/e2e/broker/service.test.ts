/**
 * The broker as a service: the units that are written, what is asked of systemd, and the broker under the unit's limits.
 * No systemd runs here: a stand-in for systemctl notes its words, and systemd-analyze, where it is installed, reads the units.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { serviceUnit } from '../../../src/cli/service/units.ts';
import { homeInWorld, newHome, type TestHome } from '../../support/home.ts';
import { verdictOn } from '../../support/servers/notebook.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

interface Rig {
  readonly home: TestHome;
  readonly unit: (name: string) => string;
  /** What systemctl was asked since the last look. */
  readonly asked: () => string[];
}

function homeWithSystemd(does = 'exit 0'): Rig {
  const folder = temporaryFolder();
  const notes = path.join(folder, 'notes');
  const systemctl = path.join(folder, 'systemctl');
  writeFileSync(systemctl, `#!/bin/sh\necho "$*" >> ${notes}\n${does}\n`);
  chmodSync(systemctl, 0o755);
  const config = path.join(folder, 'with space', '100% $HOME');
  const home = newHome({ env: { PATH: `${folder}:${process.env['PATH']}`, XDG_CONFIG_HOME: config } });
  return {
    home,
    unit: (name) => path.join(config, 'systemd', 'user', name),
    asked: () => {
      const lines = existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : [];
      rmSync(notes, { force: true });
      return lines;
    },
  };
}

const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0;
const asUnit = path.join(import.meta.dirname, '..', '..', 'support', 'processes', 'as-unit.py');

describe('keyturn service', () => {
  it('keyturn service writes a unit that runs this program for this home, in place of a broker that runs, and removes it', async () => {
    const { home, unit, asked } = homeWithSystemd();
    await home.ok(['sign-in', 'list']);
    await home.ok(['service', 'install']);
    expect(asked()).toEqual(['--user daemon-reload', '--user enable --now keyturn.service']);
    expect(await home.keyturn(['status'])).toMatchObject({ code: 8 });
    const text = readFileSync(unit('keyturn.service'), 'utf8');
    expect(text).toMatch(new RegExp(`^ExecStart=${process.execPath} .*/dist/cli/bin.js broker run$`, 'm'));
    expect(text).toContain(`\nEnvironment=KEYTURN_HOME=${home.folder}\n`);
    await home.ok(['service', 'uninstall']);
    // systemd would refuse to stop a socket that isn't there.
    expect(asked()).toEqual(['--user disable --now keyturn.service', '--user daemon-reload']);
    expect(existsSync(unit('keyturn.service'))).toBe(false);
    expect(await home.keyturn(['service', 'uninstall'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('no service is installed'),
    });
  });

  it.runIf(hasAnalyze)('keyturn service writes units that systemd takes, with a socket too', async () => {
    const { home, unit, asked } = homeWithSystemd();
    await home.ok(['service', 'install', '--socket']);
    expect(asked().at(-1)).toBe('--user enable --now keyturn.socket');
    expect(readFileSync(unit('keyturn.socket'), 'utf8')).toContain(
      `\nListenStream=${home.paths.run}/broker.sock\n`,
    );
    const files = ['keyturn.service', 'keyturn.socket'].map(unit);
    const env = { ...process.env, XDG_RUNTIME_DIR: temporaryFolder() };
    const { status, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', ...files], {
      encoding: 'utf8',
      env,
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it.runIf(hasAnalyze)('keyturn service has systemd read every path as it stands', () => {
    const folder = temporaryFolder();
    // Quotes and backslashes are refused by systemd in the path of a program.
    const program = path.join(folder, 'a b 100% $HOME');
    writeFileSync(program, '');
    chmodSync(program, 0o755);
    const unit = path.join(folder, 'kt.service');
    writeFileSync(unit, serviceUnit({ command: [program, '$HOME', 'broker', 'run'], home: program }));
    const env = { ...process.env, XDG_RUNTIME_DIR: folder };
    // It looks for the program, whose path it has read.
    const { status, stderr } = spawnSync('systemd-analyze', ['--user', 'verify', unit], {
      encoding: 'utf8',
      env,
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(readFileSync(unit, 'utf8')).toContain('100%% $HOME" $$HOME broker run\n');
  });

  it.runIf(hasAnalyze)('the broker signs in, with the keychain, under all limits of its unit', async () => {
    const unit = path.join(temporaryFolder(), 'keyturn.service');
    writeFileSync(unit, serviceUnit({ command: ['keyturn', 'broker', 'run'] }));
    const limited = `case "$3" in broker) exec python3 ${asUnit} ${unit} "$@" ;; *) exec "$@" ;; esac`;
    const launcher = ['sh', '-c', limited, 'sh'];
    const { home, world, resource } = await homeInWorld({ vault: 'keychain', launcher });
    const broker = home.start(['broker', 'run']);
    await broker.says('the broker listens on');
    expect(readFileSync(`/proc/${broker.pid}/status`, 'utf8')).toMatch(/NoNewPrivs:\t1\n[^]*Seccomp:\t2\n/);
    await home.ok(['app', 'allow', 'cli', resource]);
    const token = (await home.ok(['token', resource])).trim();
    expect((await verdictOn(world, token)).status).toBe(200);
    await home.ok(['broker', 'stop']);
  });

  it('keyturn service leaves a unit alone that somebody else wrote', async () => {
    const { home, unit, asked } = homeWithSystemd();
    mkdirSync(path.dirname(unit('keyturn.service')), { recursive: true });
    writeFileSync(unit('keyturn.service'), '[Service]\n');
    const refused = await home.keyturn(['service', 'install']);
    expect(refused.stderr).toContain('reason: conflict');
    expect(asked()).toEqual([]);
    expect(await home.keyturn(['service', 'uninstall'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Keyturn did not write the unit keyturn.service'),
    });
    expect(asked()).toEqual([]);
    expect(readFileSync(unit('keyturn.service'), 'utf8')).toBe('[Service]\n');
  });

  it.each([
    'Failed to connect to bus: No medium found',
    'Failed to retrieve unit state: Process org.freedesktop.systemd1 exited with status 1',
  ])(
    'keyturn service says so where no systemd runs for the user, and leaves nothing behind: %s',
    async (said) => {
      const { home, unit } = homeWithSystemd(`echo "${said}" >&2; exit 1`);
      const sentence = 'No systemd runs services for you here';
      const refused = await home.keyturn(['service', 'install']);
      expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(sentence) });
      expect(refused.stderr).toContain(said);
      expect(existsSync(path.dirname(unit('keyturn.service')))).toBe(false);
      expect(await home.ok(['service', 'status'])).toContain(`${sentence}: systemctl says "${said}".`);
    },
  );

  it('keyturn service doesn’t take a systemd that doesn’t answer for an absent one', async () => {
    const { home, unit } = homeWithSystemd('echo "Failed to connect to bus: Permission denied" >&2; exit 1');
    for (const action of ['install', 'status']) {
      const refused = await home.keyturn(['service', action]);
      expect(refused).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toContain('systemd refused');
      expect(refused.stderr).toContain('Permission denied');
    }
    expect(existsSync(unit('keyturn.service'))).toBe(false);
  });

  it('keyturn service shows the state of each unit, also of one that isn’t there', async () => {
    const { home } = homeWithSystemd(
      'case "$2 $3" in "is-active keyturn.service") echo active ;; *-active*) echo inactive; exit 3 ;; "is-enabled keyturn.service") echo enabled ;; *) echo "Failed to get unit file state for $3: No such file or directory" >&2; exit 1 ;; esac',
    );
    expect(await home.ok(['service', 'status'])).toBe(
      'keyturn.service  enabled, active\nkeyturn.socket   not-found, inactive\n',
    );
  });

  it('keyturn service holds no socket where the desktop app is used', async () => {
    const { home, asked } = homeWithSystemd();
    const desktop = path.join(home.paths.state, 'desktop');
    mkdirSync(desktop, { recursive: true, mode: 0o700 });
    writeFileSync(path.join(desktop, 'command.json'), '[]', { mode: 0o600 });
    expect((await home.keyturn(['service', 'install', '--socket'])).stderr).toContain('reason: conflict');
    expect(asked()).toEqual([]);
  });
});
