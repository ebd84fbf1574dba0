/** Windows that end otherwise than by the person: a page that crashes, and a session that the system ends. */
import { expect, it } from 'vitest';
import { double } from '../support/electron/electron-double.ts';
import { newHome, until } from '../support/home.ts';
import { onlyPage, openApp } from './rig.ts';

it('a window whose page crashed is reported, and opens again on request', async () => {
  await onlyPage(await openApp(newHome()));
  double.pressed = 1;
  double.windows[0]?.webContents.emit('render-process-gone');
  await until('it was said', () => double.messages.length === 1);
  expect([double.messages, double.windows]).toEqual([['A window of Keyturn stopped working'], []]);
});
