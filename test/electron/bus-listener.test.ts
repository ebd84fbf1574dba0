/** A locked screen on Linux, as the session's bus tells of it: a real bus, real signals. */
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { BusListener } from '../../electron/system/bus-listener.ts';
import { screenSavers } from '../../electron/system/screen-savers.ts';
import { until } from '../support/home.ts';
import { screenSession } from '../support/processes/screen-saver.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

interface Heard {
  readonly saver: BusListener;
  times: number;
}

function listen(env: NodeJS.ProcessEnv = process.env): Heard {
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
    const heard = listen({ ...process.env, ...env });
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

it('is not heard without a bus, and the app can tell', async () => {
  const heard = listen({ ...process.env, DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent' });
  await heard.saver.ended;
  expect(heard.saver.isListening).toBe(false);
});

it('starts no dbus-monitor where the bus has no socket', async () => {
  const folder = temporaryFolder();
  const started = path.join(folder, 'started');
  writeFileSync(path.join(folder, 'dbus-monitor'), `#!/bin/sh\n: > ${started}\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder}:${process.env['PATH']}` };
  const nowhere = { DBUS_SESSION_BUS_ADDRESS: `unix:path=${folder}/bus` };
  expect(await listen({ ...env, ...nowhere }).saver.ended).toBe('noBus');
  expect(existsSync(started)).toBe(false);
  // With the test's own bus there, the double of the program does run.
  expect(await listen(env).saver.ended).toBe('noBus');
  expect(existsSync(started)).toBe(true);
});

it('is not heard without the program that listens', async () => {
  const heard = listen({ ...process.env, PATH: '/nonexistent' });
  await heard.saver.ended;
  expect(heard.saver.isListening).toBe(false);
});

it('is no longer heard once it was closed', async () => {
  const heard = listen();
  await until('the listener is on the bus', () => heard.saver.isListening);
  heard.saver.close();
  await heard.saver.ended;
  expect(heard.saver.isListening).toBe(false);
});
