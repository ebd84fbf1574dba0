/** The app replaces a headless broker of its home: a real process, with a rotation under way. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemdListens } from '../../src/service/user-units.ts';
import { double } from '../support/electron/electron-double.ts';
import { homeInWorld, newHome, type TestHome } from '../support/home.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startInDouble } from './rig.ts';

describe('a headless broker that has the home', () => {
  it('is asked to stop, finishes its rotation, and hands the home over', async () => {
    const { home, world, resource } = await homeInWorld();
    const broker = home.start(['broker', 'run']);
    await broker.says('the broker listens on');
    await home.ok(['app', 'allow', 'cli', resource]);
    const old = await home.ok(['token', resource]);
    const held = world.holdTokenRequests();
    // A broker with a memory vault that takes over knows no permission: who asks it may not wait for a user.
    const refreshing = home.start(['token', resource, '--rejected-token-stdin', '--no-input'], {
      stdin: old,
    });
    await held.arrived;
    let isUp = false;
    const start = startInDouble(home, ['--hidden']).then(() => (isUp = true));
    // As long as a process takes: time enough to take over, if anything let it.
    await home.keyturn(['completion', 'bash']);
    expect(isUp).toBe(false);
    held.release();
    await start;
    expect((await broker.ended).code).toBe(0);
    await refreshing.ended;
    expect(world.counts().authorizationServer.refreshes).toBe(1);
    expect(await home.json<{ pid: number }>('status')).toMatchObject({ pid: process.pid });
    expect(double.errors).toEqual([]);
  });

  it('can’t come back while the app runs, and the app ends when it is told to', async () => {
    const home = newHome();
    await startInDouble(home, ['--hidden']);
    const second = await home.keyturn(['broker', 'run']);
    expect(second).toMatchObject({ code: 8 });
    expect(second.stderr).toContain('reason: broker_running');
    // It waits for this very process to end, which it doesn't: only the app in it does.
    const stop = home.start(['broker', 'stop']);
    await double.ended.promise;
    expect(double.tray).toBeUndefined();
    stop.signal('SIGTERM');
    await stop.ended;
  });
});

/**
 * systemd doesn't run here: a stand-in for systemctl says what the unit's file says and ends, on `disable --now`, the
 * process that listens in systemd's place.
 */
describe('a socket that systemd holds', () => {
  async function heldHome(): Promise<{
    home: TestHome;
    unit: (name: string) => string;
    asked: () => string;
  }> {
    const folder = temporaryFolder();
    const notes = path.join(folder, 'notes');
    const config = path.join(folder, 'config');
    const home = newHome({ env: { PATH: `${folder}:${process.env['PATH']}`, XDG_CONFIG_HOME: config } });
    const unit = (name: string): string => path.join(config, 'systemd', 'user', name);
    const stand = `#!/bin/sh
echo "$*" >> ${notes}
case "$2" in
show) echo ActiveState=active; sed -n 's/^ListenStream=\\(.*\\)/Listen=\\1 (Stream)/p' ${unit('keyturn.socket')} ;;
disable) kill "$(cat ${folder}/listener)" ;;
esac
`;
    writeFileSync(path.join(folder, 'systemctl'), stand, { mode: 0o755 });
    await home.ok(['service', 'install', '--socket']);
    mkdirSync(home.paths.run, { recursive: true, mode: 0o700 });
    const socket = path.join(home.paths.run, 'broker.sock');
    const listens = `process.umask(0o177);require('net').createServer((c)=>c.destroy()).listen(${JSON.stringify(socket)},()=>console.log('up'))`;
    const listener = spawn(process.execPath, ['-e', listens], { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void listener.kill());
    await once(listener.stdout, 'data');
    writeFileSync(path.join(folder, 'listener'), String(listener.pid));
    return { home, unit, asked: () => readFileSync(notes, 'utf8') };
  }

  it('is let go once the user has the service removed, and the app starts', async () => {
    const { home, unit, asked } = await heldHome();
    await startInDouble(home, ['--hidden'], { pressed: 0 });
    expect(double.messages).toEqual(['A background service already runs Keyturn']);
    expect(double.errors).toEqual([]);
    expect(await home.json<{ pid: number }>('status')).toMatchObject({ pid: process.pid });
    expect(existsSync(unit('keyturn.socket'))).toBe(false);
    expect(existsSync(unit('keyturn.service'))).toBe(false);
    expect(asked()).toContain('--user disable --now keyturn.service keyturn.socket\n--user daemon-reload\n');
  });

  it('stays where the user keeps the service, and the app says why it ends', async () => {
    const { home, unit, asked } = await heldHome();
    await startInDouble(home, ['--hidden'], { pressed: 1 });
    expect(double.exitCode).toBe(1);
    expect(double.errors.join()).toContain('keyturn service uninstall');
    expect(existsSync(unit('keyturn.socket'))).toBe(true);
    expect(asked()).not.toContain('disable');
  });

  it('counts as held if systemd does not say, unless there is no systemd', async () => {
    const folder = temporaryFolder();
    const home = newHome({ env: { PATH: `${folder}:${process.env['PATH']}` } });
    const systemctl = path.join(folder, 'systemctl');
    const says = (words: string): void =>
      writeFileSync(systemctl, `#!/bin/sh\necho "Failed to connect to bus: ${words}" >&2\nexit 1\n`, {
        mode: 0o755,
      });
    says('Permission denied');
    await expect(systemdListens(home.paths, home.env)).rejects.toThrow('Permission denied');
    says('No medium found');
    expect(await systemdListens(home.paths, home.env)).toBe(false);
    expect(await systemdListens(home.paths, { ...home.env, PATH: '/nonexistent' })).toBe(false);
  });
});
