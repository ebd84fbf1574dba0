/**
 * What counts as a lock of the screen. Attack: another program ends what hears it. A real bus, a real listener;
 * Electron's monitor is a double.
 */
import { EventEmitter } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { PowerMonitor } from 'electron';
import { expect, it, onTestFinished } from 'vitest';
import { watchScreenLock } from '../../electron/system/screen-lock.ts';
import type { ScreenLock } from '../../electron/system/screen-lock.ts';
import { until } from '../support/home.ts';
import { screenSession } from '../support/processes/screen-saver.ts';

interface Alarm {
  readonly in: number;
  readonly run: () => void;
  isOver?: boolean;
}

interface Watched {
  readonly lock: ScreenLock;
  readonly alarms: Alarm[];
  locked: number;
  lost: number;
}

/** With timers that the test runs; what is due at once runs at once. */
function listen(env: NodeJS.ProcessEnv): Watched {
  const alarms: Alarm[] = [];
  const watched = { alarms, locked: 0, lost: 0 };
  const lock = watchScreenLock(new EventEmitter() as PowerMonitor, {
    env,
    platform: 'linux',
    onLocked: () => (watched.locked += 1),
    onLost: () => (watched.lost += 1),
    onChange: () => undefined,
    after: (milliseconds, run) => {
      if (milliseconds === 0) setImmediate(run);
      const alarm: Alarm = { in: milliseconds, run, isOver: milliseconds === 0 };
      alarms.push(alarm);
      return () => (alarm.isOver = true);
    },
  });
  onTestFinished(() => lock.close());
  return Object.assign(watched, { lock });
}

/** The newest pause before a start; runs it. */
async function passPause({ alarms }: Watched): Promise<number> {
  const alarm = await until('it waits', () => alarms.findLast(({ isOver }) => !isOver));
  alarm.isOver = true;
  alarm.run();
  return alarm.in;
}

/** The one dbus-monitor that this process started. */
function listener(): number {
  const found = readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      return stat.includes('(dbus-monitor) S') && stat.split(') ')[1]?.split(' ')[1] === String(process.pid);
    } catch {
      return false;
    }
  });
  return Number(found[0]);
}

it('hears the next lock although its listener was killed', async () => {
  const { env, say } = await screenSession();
  const watched = listen({ ...process.env, ...env });
  await until('it listens', () => watched.lock.state === 'listening');
  const killed = listener();
  process.kill(killed, 'SIGKILL');
  await until(
    'another listens',
    () => watched.lock.state === 'listening' && listener() !== killed && listener() > 0,
  );
  say('org.gnome.ScreenSaver', true);
  await until('the lock is heard', () => watched.locked > 0);
  expect(watched.lost).toBe(0);
});

it('tells that it is lost when it is killed again and again, and hears again once it is left alone', async () => {
  const { env, say } = await screenSession();
  const watched = listen({ ...process.env, ...env });
  for (let times = 0; times < 6; times += 1) {
    await until('it listens', () => watched.lock.state === 'listening' && listener() > 0);
    process.kill(listener(), 'SIGKILL');
    await until('it is noticed', () => watched.lock.state === 'ended' || times === 0);
    if (times > 0) await passPause(watched);
  }
  expect(watched.lost).toBe(1);
  await until('it listens', () => watched.lock.state === 'listening');
  say('org.gnome.ScreenSaver', true);
  await until('the lock is heard', () => watched.locked > 0);
});

it.each([
  ['noBus', { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent' }],
  ['noProgram', { PATH: '/nonexistent' }],
] as const)('says %s and that it is lost, once, and tries on at long intervals', async (why, env) => {
  const watched = listen({ ...process.env, ...env });
  const pauses: number[] = [];
  while (pauses.length < 6) pauses.push(await passPause(watched));
  expect(pauses).toEqual([1000, 2000, 4000, 8000, 300_000, 300_000]);
  expect(watched).toMatchObject({ lost: 1, locked: 0 });
  expect(watched.lock.state).toBe(why);
});

it('starts nothing any more once it was closed', async () => {
  const watched = listen({ ...process.env, DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent' });
  await passPause(watched);
  watched.lock.close();
  const started = watched.alarms.length;
  await until('its listener is gone', () => Number.isNaN(listener()));
  expect(watched.alarms.length).toBe(started);
});

const otherSystems = [
  ['linux', ['suspend']],
  ['win32', ['lock-screen', 'suspend']],
  ['darwin', ['lock-screen', 'suspend', 'user-did-resign-active']],
] as const;

it.each(otherSystems)('counts on %s as a lock what leaves the screen to others: %j', (platform, events) => {
  const monitor = new EventEmitter();
  const locked: string[] = [];
  let event = '';
  const lock = watchScreenLock(monitor as PowerMonitor, {
    env: { PATH: '/nonexistent' },
    platform,
    onLocked: () => locked.push(event),
    onLost: () => undefined,
    onChange: () => undefined,
    after: () => () => undefined,
  });
  for (event of ['lock-screen', 'suspend', 'user-did-resign-active', 'resume']) monitor.emit(event);
  expect(locked).toEqual(events);
  lock.close();
  expect(monitor.eventNames()).toEqual([]);
});
