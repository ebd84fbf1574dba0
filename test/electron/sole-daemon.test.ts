/** The app replaces a headless broker of its home: a real process, with a rotation under way. */
import { describe, expect, it } from 'vitest';
import { double } from '../support/electron/electron-double.ts';
import { homeInWorld, newHome } from '../support/home.ts';
import { startInDouble } from './rig.ts';

describe('a headless broker that has the home', () => {
  it('is asked to stop, finishes its rotation, and hands the home over', async () => {
    const { home, world, resource } = await homeInWorld();
    const broker = home.start(['daemon']);
    await broker.says('the broker listens on');
    await home.ok(['allow', 'cli', resource]);
    const old = await home.ok(['token', resource]);
    const held = world.holdTokenRequests();
    // A broker with a memory vault that takes over knows no permission: who asks it may not wait for a person.
    const refreshing = home.start(['token', resource, '--rejected-stdin', '--no-interaction'], {
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
    const second = await home.keyturn(['daemon']);
    expect(second).toMatchObject({ code: 8 });
    expect(second.stderr).toContain('reason: broker_running');
    // It waits for this very process to end, which it doesn't: only the app in it does.
    const stop = home.start(['daemon', '--stop']);
    await double.ended.promise;
    expect(double.tray).toBeUndefined();
    stop.signal('SIGTERM');
    await stop.ended;
  });
});
