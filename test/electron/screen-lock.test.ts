/** What locks the screen, on real buses; another program may end the listener. Electron and logind are doubles. */
import { EventEmitter } from 'node:events';
import type { PowerMonitor } from 'electron';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTimeout, watchScreenLock } from '../../electron/system/screen-lock.ts';
import { processFacts, until } from '../support/home.ts';
import { childrenOf } from '../support/processes/process-table.ts';
import { screenSession } from '../support/processes/screen-saver.ts';
import { fakeLogind, type Logind, systemBus } from '../support/processes/system-bus.ts';
import { BusListener } from '../../electron/system/bus-listener.ts';
import { screenSavers } from '../../electron/system/screen-savers.ts';

interface Alarm {
  readonly in: number;
  readonly run: () => void;
  isOver?: boolean;
}

/** With timers that the test runs; what is due at once runs at once. */
function listen(env: NodeJS.ProcessEnv) {
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

type Watched = ReturnType<typeof listen>;

/** After so many milliseconds a listener counts as steady. */
const steady = 60_000;

/** It waits for the next start. */
const isPause = (one: Alarm): boolean => !one.isOver && one.in !== steady && one.in !== startTimeout;

/** The pause before the next start; runs it. */
async function passPause({ alarms }: Watched): Promise<number> {
  const alarm = await until('it waits', () => alarms.find(isPause));
  alarm.isOver = true;
  alarm.run();
  return alarm.in;
}

/** The dbus-monitor that this process started for the desktop's bus; undefined where there is none. */
function listener(): number | undefined {
  return childrenOf(process.pid).find((pid) => {
    const [program = '', bus] = processFacts(pid).argv;
    return program.endsWith('dbus-monitor') && bus === '--session';
  });
}

/** Kills the listener once locks are heard by it, and answers its process id. */
async function killListener({ lock }: Watched): Promise<number> {
  const pid = await until('it listens', () => (lock.state === 'listening' ? listener() : undefined));
  process.kill(pid, 'SIGKILL');
  return pid;
}

it('hears the next lock although its listener was killed', async () => {
  const { env, say } = await screenSession();
  const watched = listen({ ...process.env, ...env });
  const killed = await killListener(watched);
  await until('another listens', () => {
    const pid = listener();
    return watched.lock.state === 'listening' && pid !== undefined && pid !== killed;
  });
  say('org.gnome.ScreenSaver', true);
  await until('the lock is heard', () => watched.locked > 0);
  expect(watched.lost).toBe(0);
});

const nowhere = 'unix:path=/nonexistent';

it.each([
  ['noBus', { DBUS_SESSION_BUS_ADDRESS: nowhere }, 1],
  ['noSystemBus', { DBUS_SYSTEM_BUS_ADDRESS: nowhere }, 1],
  ['noProgram', { PATH: '/nonexistent' }, 2],
] as const)('says %s and that it is lost, and retries at long intervals', async (why, without, listeners) => {
  const { env } = await screenSession();
  const watched = listen({ ...process.env, ...env, ...without });
  const pauses: number[] = [];
  const waiting = (): number => watched.alarms.filter(isPause).length;
  while (pauses.length < 6 * listeners) {
    // They take turns: one asks the bus first, and the other doesn't.
    await until('each waits', () => waiting() === listeners);
    for (let turn = 0; turn < listeners; turn += 1) pauses.push(await passPause(watched));
  }
  const each = [1000, 2000, 4000, 8000, 300_000, 300_000];
  expect(pauses).toEqual(each.flatMap((pause) => Array.from({ length: listeners }, () => pause)));
  expect(watched).toMatchObject({ lost: listeners, locked: 0 });
  // A listener on the other bus may still start.
  await until('it says why', () => watched.lock.state === why);
});

it('starts nothing any more once it was closed', async () => {
  const watched = listen({
    ...process.env,
    DBUS_SESSION_BUS_ADDRESS: nowhere,
    DBUS_SYSTEM_BUS_ADDRESS: nowhere,
  });
  await passPause(watched);
  watched.lock.close();
  const started = watched.alarms.length;
  await until('its listener is gone', () => listener() === undefined);
  expect(watched.alarms.length).toBe(started);
});

describe('logind', () => {
  /** Listens beside a double of logind that knows `own` as the app's session. */
  async function listenTo(own: string) {
    const { env } = await screenSession();
    const bus = await systemBus();
    const logind = fakeLogind(bus, own);
    const watched = listen({ ...process.env, ...env, ...bus.env });
    await until('it listens', () => watched.lock.state === 'listening');
    return { bus, logind, watched };
  }

  /** What is signalled after the others is heard after them. */
  const sleep = async ({ logind, watched }: Awaited<ReturnType<typeof listenTo>>): Promise<number> => {
    const before = watched.locked;
    logind.prepareForSleep(true);
    await until('the sleep is heard', () => watched.locked > before);
    return watched.locked;
  };

  it.each([
    ['the session is to be locked', (logind) => logind.lock('_32')],
    ['another user takes the screen', (logind) => logind.changed('_32', { IdleHint: true, Active: false })],
    ['the session says that it is locked', (logind) => logind.changed('_32', { LockedHint: true })],
    ['nobody says any more whether it is active', (logind) => logind.changed('_32', {}, ['Active'])],
    ['the machine is about to sleep', (logind) => logind.prepareForSleep(true)],
  ] satisfies readonly [string, (logind: Logind) => void][])(
    'counts as a lock that %s',
    async (_what, say) => {
      const { logind, watched } = await listenTo('_32');
      say(logind);
      await until('the lock is heard', () => watched.locked > 0);
    },
  );

  it('locks for no other session, nor for what opens or changes something else', async () => {
    const heard = await listenTo('_32');
    const { logind } = heard;
    logind.lock('_33');
    logind.changed('_33', { Active: false });
    logind.changed('_32', { Active: true, LockedHint: false });
    logind.changed('_32', { IdleHint: true }, ['Desktop']);
    logind.prepareForSleep(false);
    expect(await sleep(heard)).toBe(1);
  });

  it('hears logind again after a restart, and no impostor', async () => {
    const heard = await listenTo('_32');
    const liar = fakeLogind(heard.bus, '_33', 'org.example.Other');
    liar.lock('_32');
    liar.changed('_32', { Active: false });
    expect(await sleep(heard)).toBe(1);
    heard.logind.close();
    const next = fakeLogind(heard.bus, '_32');
    next.changed('_32', { Active: false });
    await until('the lock is heard', () => heard.watched.locked > 1);
  });
});

interface Heard {
  readonly saver: BusListener;
  times: number;
}

function heardBy(env: NodeJS.ProcessEnv = process.env): Heard {
  const heard: Heard = {
    saver: new BusListener({ env, signals: screenSavers, onLocked: () => (heard.times += 1) }),
    times: 0,
  };
  onTestFinished(() => heard.saver.close());
  return heard;
}

it.each(['org.gnome.ScreenSaver', 'org.freedesktop.ScreenSaver', 'org.xfce.ScreenSaver'])(
  'is heard from %s when it begins, and nothing when it ends',
  async (saver) => {
    const { env, say } = await screenSession();
    const heard = heardBy({ ...process.env, ...env });
    await until('the listener is on the bus', () => heard.saver.isListening);
    say(saver, false);
    say('org.example.Other', true);
    say(saver, true);
    await until('it is heard', () => heard.times > 0);
    say(saver, false);
    say(saver, true);
    await until('the next is heard', () => heard.times > 1);
    expect(heard.times).toBe(2);
  },
);
