/**
 * The broker as a service: the units that are written, what is asked of systemd, and the broker under the unit's limits.
 * No systemd runs here: a stand-in for systemctl notes its words, and systemd-analyze, where it is installed, reads the units.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  it.runIf(hasAnalyze)('writes units that systemd takes, with a socket too', async () => {
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

  it.runIf(hasAnalyze)('has systemd read every path as it is', () => {
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

  it.runIf(hasAnalyze)('lets the broker sign in, with the keychain, under all limits', async () => {
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
});
