/** A locked screen on Linux, as the session's bus tells of it: a real bus, real signals. */
import { expect, it, onTestFinished } from 'vitest';
import { BusListener } from '../../electron/system/bus-listener.ts';
import { screenSavers } from '../../electron/system/screen-savers.ts';
import { until } from '../support/home.ts';
import { screenSession } from '../support/processes/screen-saver.ts';

interface OnServerMessage {
  readonly saver: BusListener;
  times: number;
}

function listen(env: NodeJS.ProcessEnv = process.env): OnServerMessage {
  const heard: OnServerMessage = {
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
