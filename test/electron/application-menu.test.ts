/** The menu of the windows, which is hidden but on macOS: what its keys do. */
import { expect, it } from 'vitest';
import { applicationMenu } from '../../electron/windows/application-menu.ts';

const view = { label: 'View', submenu: [{ role: 'zoomIn' }, { role: 'zoomOut' }, { role: 'resetZoom' }] };

it('the menu of a window closes it, quits the app and changes the size of letters, and has no tools', () => {
  const file = {
    label: 'File',
    submenu: [
      { role: 'close', accelerator: 'CommandOrControl+W' },
      { role: 'quit', accelerator: 'CommandOrControl+Q' },
    ],
  };
  expect(applicationMenu('linux')).toEqual([file, view]);
  expect(applicationMenu('win32')).toEqual([file, view]);
});

it('the menu on macOS has the rows without which copy, paste and quit have no keys', () => {
  expect(applicationMenu('darwin')).toEqual([
    { role: 'appMenu' },
    { role: 'editMenu' },
    view,
    { role: 'windowMenu' },
  ]);
});
