/** At which display a broker without a window opens the browser. */
import { expect, test } from 'vitest';
import { BrowserDisplay } from '../../../src/daemon/system/display.ts';
import { methods } from '../../../src/ipc/protocol/methods.ts';

test('the display of the owner’s command replaces all of the broker’s own', () => {
  const display = new BrowserDisplay({ PATH: '/b', DISPLAY: ':0', XAUTHORITY: '/x', XDG_RUNTIME_DIR: '/r' });
  expect(display.name).toBe(':0');
  display.set({ WAYLAND_DISPLAY: 'wayland-7' });
  expect(display.environment()).toEqual({ PATH: '/b', XDG_RUNTIME_DIR: '/r', WAYLAND_DISPLAY: 'wayland-7' });
  expect(display.name).toBe('wayland-7');
});

test.each(['unixexec:path=/bin/sh,argv1=-c', 'tcp:host=1.2.3.4,port=1', 'unix:path=/a b'])(
  'an address of D-Bus that no desktop writes is left out: %s',
  (DBUS_SESSION_BUS_ADDRESS) => {
    const { params } = methods['display.set'];
    expect(params.parse({ DISPLAY: ':0', DBUS_SESSION_BUS_ADDRESS, PATH: '/evil' })).toEqual({
      DISPLAY: ':0',
    });
  },
);
